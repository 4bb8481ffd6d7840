"""Customers of the demonstration banks that an operator writes in a file."""
