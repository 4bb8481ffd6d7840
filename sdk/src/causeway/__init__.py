"""Clients of the Causeway open banking hub: ``causeway.tpp`` for third-party providers, ``causeway.bank`` for banks."""

__version__ = "1.0.0"
