"""The pages of a programme manager's cards."""
