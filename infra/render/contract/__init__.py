"""The contract of the APIs as lines, with marks of changes since the last release."""
