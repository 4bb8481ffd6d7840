"""Payments, from orders to statuses."""
