"""The card network: what is authorized, cleared and disputed, and the rules that decide it."""
