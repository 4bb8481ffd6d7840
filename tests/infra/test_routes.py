"""The routes in the API definition pass every method to the function and do not exceed the quota of API Gateway."""

from itertools import accumulate
from typing import Any

import pytest
from chalice.deploy.swagger import CFNSwaggerGenerator

from app import app

RESOURCES = 300
"""The maximum number of resources (path parts) of an API in API Gateway."""
ANY = "x-amazon-apigateway-any-method"


@pytest.fixture(scope="module")
def paths() -> dict[str, Any]:
    """Return the routes of a sandbox stage in Chalice's API definition. A sandbox stage has the most routes."""
    found: dict[str, Any] = CFNSwaggerGenerator().generate_swagger(app)["paths"]
    return found


def test_api_gateway_passes_every_http_method_of_every_path_to_the_function(paths: dict[str, Any]) -> None:
    assert [path for path, methods in paths.items() if ANY not in methods] == []
    assert {
        each["x-amazon-apigateway-integration"]["type"] for methods in paths.values() for each in methods.values()
    } == {"aws_proxy"}


def test_all_paths_use_less_than_two_thirds_of_the_api_gateway_quota(paths: dict[str, Any]) -> None:
    resources = {prefix for path in paths for prefix in accumulate(path.strip("/").split("/"), "{}/{}".format)}

    assert len(resources) < RESOURCES * 2 / 3


def test_path_variables_at_the_same_position_of_different_paths_have_the_same_name(paths: dict[str, Any]) -> None:
    """API Gateway rejects different variable names at the same position."""
    names: dict[str, set[str]] = {}
    for path in paths:
        parts = path.split("/")
        for number, part in enumerate(parts):
            if part.startswith("{"):
                names.setdefault("/".join(parts[:number]), set()).add(part)

    assert {place: found for place, found in names.items() if len(found) > 1} == {}
