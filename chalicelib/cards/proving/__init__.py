"""Proving the ledger while the service works: accounts read as a whole, one by one or round after round."""
