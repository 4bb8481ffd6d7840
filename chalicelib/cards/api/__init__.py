"""HTTP endpoints of the card API."""
