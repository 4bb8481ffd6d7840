"""HTTP for TPPs, OAuth clients and banks, and nothing else."""
