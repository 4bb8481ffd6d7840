"""Banks: who they are, what they offer, and what they are told and report."""
