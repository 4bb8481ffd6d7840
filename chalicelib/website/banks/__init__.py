"""The public pages about a bank, and tools for its engineers."""
