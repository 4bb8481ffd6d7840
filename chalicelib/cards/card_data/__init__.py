"""Card data: keys, numbers, encrypted values, PINs and verification values."""
