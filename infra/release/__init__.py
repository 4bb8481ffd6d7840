"""Releases: the changelog's sections, and the mechanical steps of a release."""
