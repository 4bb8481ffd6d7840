"""Finds inconsistencies between tables that were restored separately."""
