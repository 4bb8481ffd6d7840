"""The stage of the commands: the environment's, or the running local stack."""

from __future__ import annotations

import os
from collections.abc import Mapping

from chalicelib import bootstrap
from infra.local import stackfile

_CREDENTIALS = (
    *stackfile.CREDENTIALS,
    *("AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"),
)
_SHORTEST_KEY = 16
"""The fewest characters of an AWS access key's id; those for emulators have fewer."""


class StageUnknown(Exception):
    """The stage is unknown: the environment and a running local stack name none, or the environment is ambiguous."""


def connect() -> bootstrap.Hub:
    """The hub of the stage. Raises: StageUnknown, InvalidSetting."""
    if variables := settings_of_local_stack(os.environ):
        stackfile.point_at_stack(os.environ, variables)
    return bootstrap.hub()


def settings_of_local_stack(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables of the running local stack, or none if ``environ`` names a stage or an endpoint.

    Raises:
        StageUnknown: the stage is local, no endpoint is named, and no stack runs; or no stage is named beside an AWS
            account's credentials, so that a deployed stage may be meant.
    """
    stage = environ.get("STAGE") or ""
    if stage not in ("", "local"):
        return {}
    if not stage and (variable := _credential_variable(environ)):
        raise StageUnknown(
            f"{variable} is set and STAGE is not: set STAGE to the stage that you mean, STAGE=local for the local stack"
        )
    if environ.get("AWS_ENDPOINT_URL"):
        return {}
    stack = stackfile.find_running(stackfile.location(environ))
    variables = stack.get("environment") if stack else None
    if not isinstance(variables, dict):
        raise StageUnknown("no local stack is running: start it with `make run`, or set STAGE and the AWS settings")
    return {str(name): str(value) for name, value in variables.items()}


def _credential_variable(environ: Mapping[str, str]) -> str | None:
    """The variable with credentials of an AWS account, if any."""
    if len(environ.get("AWS_ACCESS_KEY_ID", "")) >= _SHORTEST_KEY:
        return "AWS_ACCESS_KEY_ID"
    return next((name for name in _CREDENTIALS if environ.get(name)), None)
