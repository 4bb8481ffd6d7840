"""Selects the stage for commands from the environment or the running local stack."""

from __future__ import annotations

import os
from collections.abc import Mapping

from chalicelib import bootstrap
from infra.admin import operator_log
from infra.local import stackfile

_CREDENTIALS = (
    *stackfile.CREDENTIALS,
    *("AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"),
)
_SHORTEST_KEY = 16
"""Minimum length of a real AWS access key id; emulators use shorter ids."""


class StageUnknown(Exception):
    """The stage is unknown: no stage is set and no local stack runs, or the environment is ambiguous."""


def connect() -> bootstrap.Hub:
    """Return the hub of the selected stage. Its log records the command. Raises: StageUnknown, InvalidSetting."""
    if variables := settings_of_local_stack(os.environ):
        stackfile.point_at_stack(os.environ, variables)
    hub = bootstrap.hub()
    operator_log.record(hub)
    return hub


def settings_of_local_stack(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the local stack's environment variables. Return an empty mapping if ``environ`` sets a deployed stage or
    an endpoint.

    Raises:
        StageUnknown: the stage is local, but no endpoint is set and no stack runs. Or AWS credentials are set without a
            stage, so that a deployed stage may be intended.
    """
    stage = environ.get("STAGE") or ""
    if stage not in ("", "local"):
        return {}
    if not stage and (variable := _credential_variable(environ)):
        raise StageUnknown(
            f"{variable} is set but STAGE is not: set STAGE to the intended stage; STAGE=local is the local stack"
        )
    stack = stackfile.find_running(stackfile.location(environ))
    variables = stack.get("environment") if stack else None
    endpoint = environ.get("AWS_ENDPOINT_URL")
    if endpoint and not (isinstance(variables, dict) and variables.get("AWS_ENDPOINT_URL") == endpoint):
        return {}
    if not isinstance(variables, dict):
        raise StageUnknown("no local stack is running: start it with `make run`, or set STAGE and the AWS settings")
    return {str(name): str(value) for name, value in variables.items()}


def _credential_variable(environ: Mapping[str, str]) -> str | None:
    if len(environ.get("AWS_ACCESS_KEY_ID", "")) >= _SHORTEST_KEY:
        return "AWS_ACCESS_KEY_ID"
    return next((name for name in _CREDENTIALS if environ.get(name)), None)
