"""Infrastructure: the resources of a stage, the one-machine stack, and the operator's tools."""
