"""Tests of the documentation that is made of the tables."""
