"""Consents, from authorization requests to tokens and their end."""
