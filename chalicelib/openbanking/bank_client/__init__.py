"""Calls to banks, their answers and their failures."""
