"""A request of the card API: envelope, context, idempotency, disclosure."""
