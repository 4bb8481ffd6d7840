"""What the web interface keeps: users, sessions, journeys, links for one use."""
