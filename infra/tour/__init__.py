"""The tour, which simulates a TPP, a PSU and a programme manager on a running stack, and prints each step."""
