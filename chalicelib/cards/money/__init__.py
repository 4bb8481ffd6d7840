"""The card API's money: amounts, fees, limits, the ledger and what it shows."""
