"""The open banking protocol as data: scopes, error tables, messages, webhooks and calls. The package performs no I/O
and uses no framework.
"""
