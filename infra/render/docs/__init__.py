"""Renders the pages at ``/docs``, and generates the reference from the service's tables and OpenAPI documents."""
