"""The OpenAPI documents, which are generated from the protocol's tables. The website serves them."""
