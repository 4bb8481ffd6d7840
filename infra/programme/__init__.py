"""Programme files: their form, and loading them into a stage."""
