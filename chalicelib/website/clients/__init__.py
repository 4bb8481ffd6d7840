"""The pages of a user's clients, their activity and their consents."""
