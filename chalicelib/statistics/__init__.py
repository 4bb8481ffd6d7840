"""Statistics: how well the interfaces work, as the banks report it."""
