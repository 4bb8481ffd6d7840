"""What the service costs and where it ends: computed from counted calls, list prices and AWS's limits."""
