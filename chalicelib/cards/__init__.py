"""Cards: the programme manager's API for holders, accounts and cards."""
