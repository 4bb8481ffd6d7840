"""Tests of the movable clock of the one-machine stack."""
