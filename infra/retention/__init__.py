"""Personal data: kinds, retention periods and removal."""
