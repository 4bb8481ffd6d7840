"""The document of the card API, made from the table of actions."""
