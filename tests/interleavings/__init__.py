"""Two requests at the same time, in every order of their calls of DynamoDB."""
