"""Authorizations, holds, clearing, refunds, disputes, and the activity of cards."""
