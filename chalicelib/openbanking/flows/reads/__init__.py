"""Reads of PSU data, passed on to banks."""
