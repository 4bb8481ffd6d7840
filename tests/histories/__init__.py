"""Tests that histories of concurrent clients are linearizable: equivalent to a sequence of operations."""
