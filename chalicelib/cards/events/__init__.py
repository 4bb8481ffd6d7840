"""Card events: recorded with their cause, and sent signed."""
