"""Generates the reference in ``docs/reference`` from the service's tables and OpenAPI documents."""
