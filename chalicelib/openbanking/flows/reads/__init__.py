"""Flows for reads of PSU data, which are passed on to banks."""
