"""The kill test: worker processes die at random moments, receivers fail, and every promise of delivery holds."""
