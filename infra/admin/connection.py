"""Which stage the commands work on: the environment's, or the local stack that runs on this machine."""

from __future__ import annotations

import os
from collections.abc import Mapping

from chalicelib import bootstrap
from infra.local import stackfile

_ENDPOINTS = ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_DYNAMODB")


class NoStack(Exception):
    """Neither the environment nor a running local stack says what to work on."""


def connect() -> bootstrap.Hub:
    """The hub of the stage. Raises: NoStack, InvalidSetting."""
    os.environ.update(settings_of_local_stack(os.environ))
    return bootstrap.hub()


def settings_of_local_stack(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables of the running local stack, or none when ``environ`` names a stage or an endpoint itself.

    Raises:
        NoStack: the stage is local, no endpoint is named, and no stack runs.
    """
    if environ.get("STAGE", "local") != "local" or any(environ.get(name) for name in _ENDPOINTS):
        return {}
    stack = stackfile.running(stackfile.location(environ))
    variables = stack.get("environment") if stack else None
    if not isinstance(variables, dict):
        raise NoStack("no local stack is running: start it with `make run`, or set STAGE and the AWS settings")
    return {str(name): str(value) for name, value in variables.items()}
