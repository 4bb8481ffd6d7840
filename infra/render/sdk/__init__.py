"""Generates modules of the SDK from the OpenAPI documents, and the synchronous client from the asynchronous client."""
