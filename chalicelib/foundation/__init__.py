"""The foundation of all rooms: settings, storage, keys, time, fields and HTTP. Knows nothing of banking."""
