"""The authorization journey: request, bank, callback, tokens, and the display of each call."""
