"""External payments: addresses, transfers, returns, direct debits, and their provider."""
