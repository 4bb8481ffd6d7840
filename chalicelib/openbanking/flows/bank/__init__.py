"""Banks: authentication, directory, notifications, reports and performance."""
