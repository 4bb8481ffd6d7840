"""How records of cards are kept: rows, lists in order of time, due times, sequences."""
