"""The OpenAPI documents: made from the protocol's tables, committed, and served by the website."""
