"""Volume tests: the round trips for finding and queueing due deliveries do not depend on the number of records."""
