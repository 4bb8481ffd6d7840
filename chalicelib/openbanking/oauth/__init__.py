"""TPP authentication, with one module per standard."""
