"""Renders files from the code: the OpenAPI documents, the SDK's modules and the pages at `/docs`."""
