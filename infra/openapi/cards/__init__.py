"""The document of the card API, and the reference of its page: both made of the table of actions."""
