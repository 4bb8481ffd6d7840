"""Explains why a stack did not start, in a sentence for the user."""

from __future__ import annotations

import errno
import os


def explain_failure(error: Exception) -> str | None:
    """Explain why the start failed if the cause is a file or an engine. Return ``None`` for all other errors."""
    from chalicelib.foundation.dynamodb.store import StoreError
    from infra import aws_errors

    if isinstance(error, OSError):
        return f"a file of the stack cannot be used: {error}"
    if isinstance(error, (StoreError, *aws_errors.AWS_ERRORS)):
        return f"the engine failed while the stack started: {aws_errors.explain(error)}"
    return None


def explain_port(port: int, error: OSError) -> str:
    """Explain why a port cannot be used."""
    if error.errno == errno.EADDRINUSE:
        return f"port {port} is taken; choose another one, for example PORT={port % 65535 + 1}"
    return f"port {port} cannot be used: {os.strerror(error.errno or 0)}"
