"""DynamoDB: the store, its errors, items and sharded indexes."""
