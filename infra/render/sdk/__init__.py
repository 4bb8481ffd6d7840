"""Writes what follows from the OpenAPI documents in the SDK, and its synchronous half."""
