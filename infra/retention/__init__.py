"""What is kept of a person, for how long, and how it is removed."""
