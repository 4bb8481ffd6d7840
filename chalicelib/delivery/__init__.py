"""Delivery: messages to other parties. They are recorded with their cause, and sent until they are delivered or
expire.
"""
