"""Statistics: how well the interfaces of banks work, as this service measures it and as the banks report it."""
