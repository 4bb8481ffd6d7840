"""Code generators make clients of all OpenAPI documents; the clients compile and call a stack."""
