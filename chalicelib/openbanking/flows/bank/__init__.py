"""Flows for banks: authentication, directory, notifications, status reports and daily performance reports."""
