"""The ledger: amounts, fees, limits, charges, entries and transactions."""
