"""Tests of the documentation that is generated from the tables."""
