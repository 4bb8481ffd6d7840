"""Consistency checks of the ledger against all records that move or hold money."""
