"""The client for calls to banks, the validation of responses, and the failures of calls."""
