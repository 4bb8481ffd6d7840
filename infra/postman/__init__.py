"""The Postman collection: the requests of the OpenAPI documents in executable order, with a running stack's data."""
