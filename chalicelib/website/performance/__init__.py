"""The pages of bank performance."""
