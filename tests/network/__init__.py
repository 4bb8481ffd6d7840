"""Runs of the hub over a network that loses, delays, cuts and duplicates requests to and from banks and receivers."""
