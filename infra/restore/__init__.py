"""Finds inconsistencies across tables that were restored one by one."""
