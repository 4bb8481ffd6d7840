"""Delivery: what other parties have to be told, recorded with its cause and sent until it has arrived."""
