"""Holders, accounts and cards: how they are made, shown and changed."""
