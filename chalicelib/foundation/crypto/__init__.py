"""Keys, sealed values, signatures, certificates and event signing."""
