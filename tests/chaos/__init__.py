"""The kill test checks all delivery guarantees while worker processes are killed at random times and receivers fail."""
