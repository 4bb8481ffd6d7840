"""The request engine: read, decide, write; on a conflict, decide again."""
