"""How banks are called, what they answer, and what they do wrong."""
