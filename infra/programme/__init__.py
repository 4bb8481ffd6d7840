"""Programme files: their format, and loading them into a stage."""
