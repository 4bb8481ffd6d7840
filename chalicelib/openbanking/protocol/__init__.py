"""The open banking protocol as data: scopes, error tables, messages, webhooks and calls. No I/O, no framework."""
