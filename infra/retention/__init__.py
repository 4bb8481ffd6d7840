"""Defines the kinds of personal data and their retention periods, and removes personal data."""
