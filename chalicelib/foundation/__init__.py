"""The foundation of all packages: settings, storage, keys, time, fields and HTTP. Contains no banking logic."""
