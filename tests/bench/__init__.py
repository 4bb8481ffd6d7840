"""Benchmarks: ratios against a bare script from one run, since absolute times tell of the machine."""
