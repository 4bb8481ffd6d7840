"""Mutation testing: small defects in core modules that the tests must detect (``make mutants``)."""
