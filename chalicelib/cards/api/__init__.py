"""HTTP, dispatch and scheduled jobs of the card API."""
