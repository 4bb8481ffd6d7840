"""How TPPs prove who they are: one module per standard."""
