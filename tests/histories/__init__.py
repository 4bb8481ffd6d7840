"""Histories of concurrent clients, which must be equivalent to a sequence of operations (linearizability)."""
