"""The web interface: user accounts and pages."""
