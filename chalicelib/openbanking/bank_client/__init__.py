"""Calls to banks: the client, response validation and failures."""
