"""Infrastructure code: a stage's resources, the one-machine stack, and the operator's tools."""
