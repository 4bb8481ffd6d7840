"""Keys, sealed values, signatures and the signing of events."""
