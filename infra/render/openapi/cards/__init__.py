"""The card API document, generated from the table of actions."""
