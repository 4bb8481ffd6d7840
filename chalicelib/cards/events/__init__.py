"""Card events, recorded in the transaction that causes them, and signed when sent."""
