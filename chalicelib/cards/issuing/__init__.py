"""Issuing: holders, accounts and cards."""
