"""The error that retention commands raise."""

from __future__ import annotations


class NotErasable(Exception):
    """The data of a person cannot be erased yet. The message is a sentence for the operator."""
