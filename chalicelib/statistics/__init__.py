"""Statistics: availability and performance of banks, as measured by this service and as reported by banks."""
