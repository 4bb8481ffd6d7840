"""Tests that histories of concurrent clients are linearizable, which means equivalent to a sequence of operations."""
