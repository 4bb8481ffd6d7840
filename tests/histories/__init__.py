"""Histories of clients at work at the same time: what they saw is that of one operation after the other."""
