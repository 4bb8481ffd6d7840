"""Card data: keys, numbers, sealed values, PINs and verification values."""
