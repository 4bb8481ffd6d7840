"""Statistics: availability and performance of banks, measured by this service and reported by banks."""
