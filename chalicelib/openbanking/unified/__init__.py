"""The unified API: one shape for banks of all versions, mapped by rows to each version's messages."""
