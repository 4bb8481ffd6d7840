"""What an operator sets up for a programme manager: programmes, credentials, groups."""
