"""Runs of the hub over a network that loses, delays, cuts and duplicates requests of banks and receivers."""
