"""Storage of card records: rows, time-ordered lists, indexes of due times, and sequences."""
