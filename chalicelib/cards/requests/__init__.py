"""One request of the card API: its context, its repeats, its envelope, what it may see."""
