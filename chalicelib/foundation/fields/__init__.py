"""Field types, their rules, and the underlying registries."""
