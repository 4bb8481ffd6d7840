"""The Postman collection: the documents' requests in an order that runs, with a running stack's data."""
