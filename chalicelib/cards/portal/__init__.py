"""What the people of a programme manager see and do in the web interface."""
