"""The clock of the one-machine stack, which can be advanced."""
