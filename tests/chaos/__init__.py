"""The kill test: worker processes are killed at random moments and receivers fail, but all delivery guarantees hold."""
