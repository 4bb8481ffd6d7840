"""Delivery: messages to other parties, recorded with their cause and sent until they are delivered or expire."""
