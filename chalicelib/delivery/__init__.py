"""Delivery of messages to other parties. A message is recorded with its cause, and sent until it is delivered or
expires.
"""
