"""Schemathesis against the running stack: whether the service does what its OpenAPI documents say."""
