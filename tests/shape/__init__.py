"""Code metrics that must not increase, and the rules for counting them."""
