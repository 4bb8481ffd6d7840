"""Interleavings: two or three concurrent requests, with different orders of their DynamoDB calls."""
