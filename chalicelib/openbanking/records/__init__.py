"""Stored records and their rules, one per module. Partition keys are defined only here."""
