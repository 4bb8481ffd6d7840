"""Renders the pages at ``/docs``, and generates the reference pages from the service's tables and OpenAPI documents."""
