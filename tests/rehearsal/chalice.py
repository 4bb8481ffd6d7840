"""A program that runs Chalice with a modified AWS client. The client adapts Chalice's documents to moto and records
calls.

AWS accepts Chalice's Swagger 2.0 unchanged; moto requires OpenAPI 3 and a description.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

from botocore.session import Session
from chalice.cli import factory, main

CALLS = "REHEARSED_CALLS"
"""The environment variable with the path of the file of recorded calls. Each line has a service and an operation."""
FAILING = "REHEARSED_FAILURE"
"""The environment variable with the name of an operation. Chalice fails before a call of this operation."""

_create = factory.create_botocore_session


def create_botocore_session(**options: Any) -> Session:
    session = _create(**options)
    for operation in ("ImportRestApi", "PutRestApi"):
        session.register(f"before-parameter-build.api-gateway.{operation}", _describe)
    session.register("before-call", _note)
    return session


def _describe(params: dict[str, Any], **_: Any) -> None:
    document = json.loads(params["body"])
    assert document.pop("swagger") == "2.0"
    document["openapi"] = "3.0.1"
    document["info"]["description"] = "rehearsed"
    params["body"] = json.dumps(document)


def _note(model: Any, **_: Any) -> None:
    if model.name == os.environ.get(FAILING):
        raise ConnectionError(f"broken off before {model.name}")
    with Path(os.environ[CALLS]).open("a", encoding="utf-8") as file:
        file.write(f"{model.service_model.service_name} {model.name}\n")


if __name__ == "__main__":
    vars(factory)["create_botocore_session"] = create_botocore_session
    sys.exit(main())
