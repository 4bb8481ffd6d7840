"""Tests of the generator of the SDK's modules."""
