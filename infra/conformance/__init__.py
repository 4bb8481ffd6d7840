"""The conformance kit: plays the hub against a bank's implementation, checks it and reports."""
