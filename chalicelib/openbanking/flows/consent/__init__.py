"""Flows for consents: authorization requests, tokens, and the end of consents."""
