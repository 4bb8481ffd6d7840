"""The tour: plays a TPP, a PSU and a programme manager against a running stack, and prints each step."""
