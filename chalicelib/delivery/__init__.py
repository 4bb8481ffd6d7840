"""Delivery: messages to other parties, recorded with their cause and sent until they arrive or expire."""
