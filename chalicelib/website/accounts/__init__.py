"""Accounts of the web interface: registration, sign-in, passwords."""
