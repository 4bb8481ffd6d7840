"""Releases: the changelog's sections, and what is mechanical about making one."""
