"""A closed endpoint is closed again after a deployment. An open endpoint is not changed."""

from typing import Any

import pytest

from infra.deploy import chalice_command


class Gateway:
    """A fake API Gateway client with one API, ``abc``. Each deployment reopens the API's default endpoint."""

    class exceptions:  # noqa: N801 - botocore's name
        class NotFoundException(Exception):
            """Raised if the API does not exist."""

    def __init__(self, closed: bool) -> None:
        self.api = {"id": "abc", "disableExecuteApiEndpoint": closed}
        self.deployments: list[tuple[str, bool]] = []

    def get_rest_api(self, restApiId: str) -> dict[str, Any]:  # noqa: N803 - API Gateway's name
        if restApiId != self.api["id"]:
            raise self.exceptions.NotFoundException
        return self.api

    def update_rest_api(self, restApiId: str, patchOperations: list[dict[str, str]]) -> None:  # noqa: N803 - as above
        assert patchOperations == [{"op": "replace", "path": "/disableExecuteApiEndpoint", "value": "true"}]
        self.api["disableExecuteApiEndpoint"] = True

    def create_deployment(self, restApiId: str, stageName: str) -> None:  # noqa: N803 - as above
        self.deployments.append((stageName, bool(self.api["disableExecuteApiEndpoint"])))


def test_a_closed_endpoint_is_closed_again_after_a_deployment() -> None:
    gateway = Gateway(closed=True)
    with chalice_command.keep_endpoint_closed(gateway, "abc", "prod"):
        gateway.api["disableExecuteApiEndpoint"] = False

    assert gateway.deployments == [("prod", True)]


def test_a_closed_endpoint_is_closed_again_after_a_failed_deployment() -> None:
    gateway = Gateway(closed=True)
    with pytest.raises(ZeroDivisionError), chalice_command.keep_endpoint_closed(gateway, "abc", "prod"):
        gateway.api["disableExecuteApiEndpoint"] = 1 // 0

    assert gateway.deployments == [("prod", True)]


@pytest.mark.parametrize("interface", ["abc", "gone", None])
def test_an_open_or_missing_endpoint_is_not_changed(interface: str | None) -> None:
    gateway = Gateway(closed=False)
    with chalice_command.keep_endpoint_closed(gateway, interface, "prod"):
        pass

    assert gateway.deployments == []
