"""Stored records and their rules, with one module for each record. Partition keys are defined only in this package."""
