"""The documents for code generators: the contract of each exact document in OpenAPI 3.0, with one type for each member.

A document for generators allows a caller to send less than the exact document allows, never more. It describes
everything that the service sends.
"""
