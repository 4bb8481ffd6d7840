"""The movable clock of the one-machine stack."""
