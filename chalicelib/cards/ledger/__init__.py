"""Money: amounts, fees, limits, charges, entries, transactions."""
