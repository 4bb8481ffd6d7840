"""Records of the web interface: users, sessions, journeys and one-time secrets."""
