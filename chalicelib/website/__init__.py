"""The web interface: users and pages."""
