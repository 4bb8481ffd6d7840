"""Two or three requests at the same time, in orders of their calls of DynamoDB."""
