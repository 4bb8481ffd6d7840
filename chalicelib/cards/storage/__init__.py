"""Storage of card records: rows, lists in order of time, due times, sequences."""
