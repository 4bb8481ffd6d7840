"""The contract of the APIs as lines, with marks of what has changed since the last release."""
