"""Flows for payments: orders, deferred payments, outcomes and statuses."""
