"""The foundation of all packages: settings, storage, keys, time, fields and HTTP. The package contains no banking
logic.
"""
