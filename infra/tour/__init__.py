"""The tour: plays a TPP and a PSU against a running stack, and prints every request and response."""
