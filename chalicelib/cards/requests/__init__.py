"""Requests of the card API: envelope, context, idempotency, disclosure."""
