"""HTTP of the card API."""
