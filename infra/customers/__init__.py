"""Customers of the demonstration banks, defined in an operator's file."""
