"""The pages of the banks' performance."""
