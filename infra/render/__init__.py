"""Renders what is derived from the code: the OpenAPI documents, the SDK's modules and the pages at `/docs`."""
