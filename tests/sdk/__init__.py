"""Tests of the Python SDK in ``sdk/``."""
