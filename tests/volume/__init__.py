"""Volume: what finding and queueing due deliveries costs in round trips, however many records there are."""
