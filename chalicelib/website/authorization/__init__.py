"""The authorization journey: request, bank, callback, tokens, and what is shown of each call."""
