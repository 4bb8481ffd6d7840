"""HTTP of the card API, and nothing else."""
