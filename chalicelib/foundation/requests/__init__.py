"""The request engine: read, decide, write, and decide again after a conflict."""
