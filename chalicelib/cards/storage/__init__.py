"""Storage of card records: rows, time-ordered lists, due times, sequences."""
