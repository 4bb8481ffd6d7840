"""The pages of events and deferred calls, and the built-in receiver."""
