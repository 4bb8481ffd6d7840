"""Requests that must change nothing: no write, and no call to a bank or to the service."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Any

import pytest

from chalicelib.demo_bank import runtime
from tests.causeway import Causeway
from tests.website.web_user import WebUser

WRITES = ("put", "update", "delete", "transact")


def address(route: str, part: str = "nothing") -> str:
    """An address of a route, with ``part`` for each of its parameters; by default there is nothing of that name."""
    return re.sub(r"\{\w+\}", part, route)


@contextlib.contextmanager
def nothing_changes(causeway: Causeway, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fails when anything is written, or any bank or the service is called."""

    def refuse(*_: Any, **__: Any) -> Any:
        pytest.fail("the request changed something, or called somebody")

    with monkeypatch.context() as patch:
        for name in WRITES:
            patch.setattr(causeway.hub.store, name, refuse)
        patch.setattr(causeway.hub.outbound, "post", refuse)
        patch.setattr(runtime.DemoBank, "call_hub", refuse)
        yield


def person_cookie(causeway: Causeway) -> str:
    """The ``Cookie`` header of a signed-in person."""
    (pair,) = WebUser.signed_in(causeway, "a@example.com").cookies.items()
    return "=".join(pair)
