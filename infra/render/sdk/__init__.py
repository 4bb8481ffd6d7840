"""Writes the SDK's modules generated from the OpenAPI documents, and its synchronous half."""
