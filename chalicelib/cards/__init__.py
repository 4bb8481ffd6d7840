"""Cards: the programme manager's interface to holders, accounts and cards."""
