"""Plays every kind of request in this process and counts what it takes of AWS."""
