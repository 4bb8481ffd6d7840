"""API Gateway's own address of a stage: once an operator has closed it, deployments keep it closed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_CLOSED = "disableExecuteApiEndpoint"


@contextmanager
def kept_closed(client: Any, interface: str | None, stage: str) -> Iterator[None]:
    """If the address is closed, close it again at the end: Chalice lays its document anew, which does not speak of it.

    Args:
        client: a boto3 client of API Gateway.
        interface: the id of the API, if it is known to have been made.
    """
    if not _is_closed(client, interface):
        yield
        return
    try:
        yield
    finally:
        close = {"op": "replace", "path": f"/{_CLOSED}", "value": "true"}
        client.update_rest_api(restApiId=interface, patchOperations=[close])
        client.create_deployment(restApiId=interface, stageName=stage)


def _is_closed(client: Any, interface: str | None) -> bool:
    if interface is None:
        return False
    try:
        return bool(client.get_rest_api(restApiId=interface).get(_CLOSED))
    except client.exceptions.NotFoundException:  # deleted by hand: Chalice makes another
        return False
