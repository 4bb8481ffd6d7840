"""The web interface: users, pages and what they are made of."""
