"""3-D Secure: authentications and merchant whitelist rules."""
