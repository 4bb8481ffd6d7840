"""Causeway: an open banking hub and a card API in one service."""
