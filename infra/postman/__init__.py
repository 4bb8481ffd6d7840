"""The Postman collection: the documents' requests in an order that runs, with what a running stack has."""
