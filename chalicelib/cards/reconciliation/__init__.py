"""Checks that the ledger is consistent with every record that moves or holds money."""
