"""What every test stands on: fake credentials, and the stack's resources in an emulator inside this process."""

from __future__ import annotations

import gc
import logging
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from functools import cached_property
from io import StringIO
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest
from xdist.scheduler import LoadScopeScheduling

from tests import endpoint

ENDPOINT = endpoint.given(os.environ)
"""What leads to the emulator that ``make test-emulator`` runs the end-to-end tests on."""
os.environ.update(
    AWS_ACCESS_KEY_ID="test",
    AWS_SECRET_ACCESS_KEY="test",
    AWS_DEFAULT_REGION="eu-west-1",
    AWS_REGION="eu-west-1",
    STAGE="local",
)
DYNAMODB_ENGINE = os.environ.get("DYNAMODB_ENGINE", "")
"""What ``make test-dynamodb`` and ``make test-dynoxide`` run the tests on; each process starts its own."""
os.environ.update(endpoint.credentials(ENDPOINT))
for variable in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_DYNAMODB", "PORT", "PUBLIC_URL", "BANK_API_URL", "AWS_PROFILE"):
    os.environ.pop(variable, None)
if os.environ.pop("PYTHONDONTWRITEBYTECODE", None):  # or every process that a test starts would compile everything anew
    sys.dont_write_bytecode = False

from chalicelib.foundation import log  # noqa: E402
from tests import lean_emulator  # noqa: E402
from tests.log_lines import Lines  # noqa: E402
from tests.world import World  # noqa: E402

if TYPE_CHECKING:
    from tests.cards.leak_watch import Watch

log.logger()  # writes where pytest looks, and not wherever a test that logs first has its output go
pytest_plugins = ["tests.cards.leak_watch", "tests.rendered", "tests.stack"]

STACK_ROOMS = ("tests/e2e/", "tests/browser/")
SECOND_STACK = tuple(f"tests/e2e/test_sdk_{subject}.py" for subject in ("bank", "clock", "lost_answers"))
"""The part of ``make test-sdk`` for a second process: its stack is begun there, too."""
PLAYED_MEANWHILE = "tests/e2e/test_faults.py"
"""Looks at what begins with the first end-to-end test, and has ended long before the last."""
LONG_ROOMS = (*STACK_ROOMS, PLAYED_MEANWHILE, "tests/infra/", "tests/bench/")
"""What takes longest comes first, so that no process is left with it at the end."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: _room(item.nodeid))


def _room(nodeid: str) -> int:
    """The place of a test among ``LONG_ROOMS``, of which the last that fits is its own."""
    return max((n for n, room in enumerate(LONG_ROOMS) if nodeid.startswith(room)), default=len(LONG_ROOMS))


def pytest_collection_finish() -> None:
    """What was imported and collected stays: a million objects that no collection of garbage has to visit."""
    gc.collect()
    gc.freeze()


class ByFile(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """Where tests run in several processes, a file stays in one of them, and all that need the stack share one.

    Only the tests of the SDK share two.
    """

    def __init__(self, config: pytest.Config, log: Any) -> None:
        config.option.loadscopereorder = False  # it would begin with the files that have most tests
        super().__init__(config, log)

    def _split_scope(self, nodeid: str) -> str:
        file: str = nodeid.partition("::")[0]
        if file in SECOND_STACK:
            return "second stack"
        return "stack" if file.startswith(STACK_ROOMS) else file

    def add_node_collection(self, node: Any, collection: Sequence[str]) -> None:
        super().add_node_collection(node, collection)
        self.registered_collections[node] = Collected(self.registered_collections[node])

    def _pending_of(self, workload: dict[str, dict[str, bool]]) -> int:
        """xdist counts after each test, and would count what has long ended, too."""
        for scope in [scope for scope, ended in workload.items() if all(ended.values())]:
            del workload[scope]
        pending: int = super()._pending_of(workload)
        return pending


class Collected(list[str]):
    """The tests of a process, each of which xdist asks for its place."""

    @cached_property
    def _places(self) -> dict[str, int]:
        return {test: place for place, test in enumerate(self)}

    def index(self, test: str, *_: Any) -> int:
        return self._places[test]


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByFile:
    return ByFile(config, log)


@pytest.fixture(scope="session")
def resources(leak_watch: Watch) -> Iterator[None]:
    """The real template, laid on an emulator in this process; once, since tests do not share records.

    In the end nobody can read card data of any test in any table.
    """
    from moto import mock_aws

    from infra.local.engines import DYNAMODB_ENGINES
    from infra.local.resources import create_resources

    lean_emulator.install()
    with mock_aws(), ExitStack() as ending:
        if DYNAMODB_ENGINE:
            engine = ending.enter_context(DYNAMODB_ENGINES[DYNAMODB_ENGINE]())
            os.environ["AWS_ENDPOINT_URL_DYNAMODB"] = engine.wait()
        with _nothing_expires() if DYNAMODB_ENGINE else nullcontext():
            create_resources(emulated=True, dynamodb_apart=bool(DYNAMODB_ENGINE))
        yield
        leak_watch.search_tables()


def _nothing_expires() -> AbstractContextManager[Any]:
    """A real engine removes what has expired by the machine's clock, which is far ahead of the tests'."""
    return patch("infra.local.resources.expire_items")


@pytest.fixture(scope="session")
def shared_world(resources: None) -> World:
    """Made once: its keys and banks take time."""
    return World.first()


@pytest.fixture
def world(shared_world: World) -> Iterator[World]:
    """The whole service in this process, with a clock that stands still, banks that tests script, a new client."""
    fresh = shared_world.again()
    with fresh.installed():
        yield fresh


@pytest.fixture
def lines() -> Iterator[Lines]:
    handler = log.logger().handlers[0]
    assert isinstance(handler, logging.StreamHandler)
    stream = StringIO()
    before = handler.setStream(stream)
    try:
        yield Lines(stream)
    finally:
        log.clear()
        handler.setStream(before)
