"""Proves the ledger against everything that moves or holds money."""
