"""Tests of the clock of the one-machine stack, which an operator can advance."""
