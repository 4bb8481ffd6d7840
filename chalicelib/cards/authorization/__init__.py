"""Authorizations, holds, clearings, refunds, disputes, and card activity."""
