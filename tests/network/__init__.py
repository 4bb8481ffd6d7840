"""Runs of the hub over a network that loses, delays, cuts and repeats requests of banks and receivers."""
