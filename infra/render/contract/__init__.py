"""The contract of the APIs as text lines, in which changes since the last release are marked."""
