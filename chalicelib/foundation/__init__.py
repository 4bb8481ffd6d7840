"""What every other room stands on: settings, storage, keys, time, fields and HTTP. Knows nothing of banking."""
