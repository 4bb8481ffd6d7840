"""The conformance kit, which simulates the hub, checks a bank's implementation and reports the results."""
