"""The OpenAPI documents: generated from the protocol's tables, committed, and served by the website."""
