"""The kill test: worker processes are killed at random times and receivers fail. All delivery guarantees must hold."""
