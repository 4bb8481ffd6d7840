"""The one running stack of all tests that meet the service from outside, started as ``make run`` starts it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from chalicelib import bootstrap
from chalicelib.foundation.settings import Settings
from tests.cards.leak_watch import none_of
from tests.cards.stack_search import read_in_stack
from tests.conftest import DYNAMODB_ENGINE, ENDPOINT
from tests.e2e.parties import Tpp
from tests.endpoint import of_a_stack
from tests.first_data import wait_for_card_month
from tests.log_traces import check_log


@pytest.fixture(scope="session")
def stack_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("stack") / "log"


@pytest.fixture(scope="session")
def shared_stack(stack_log: Path, rendered: None) -> Iterator[dict[str, Any]]:
    """What the running stack's file says. Its data are its own: its worker would take the deliveries of other tests.
    At an endpoint that others use, too, they are told apart by their names.

    In the end nobody can read card data in its tables or its log, and the log obeys the rules of ``log_traces``.
    """
    from infra.local.background import run_stack
    from infra.local.engines import DYNAMODB_ENGINES

    environ = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    with ExitStack() as ending:
        if DYNAMODB_ENGINE and not ENDPOINT:
            engine = ending.enter_context(DYNAMODB_ENGINES[DYNAMODB_ENGINE]())
            environ["AWS_ENDPOINT_URL_DYNAMODB"] = engine.wait()
        log = ending.enter_context(stack_log.open("wb"))
        content = ending.enter_context(run_stack(environ=environ, output=log, elsewhere=of_a_stack(ENDPOINT)))
        wait_for_card_month(content)
        yield content
        none_of(read_in_stack(content, stack_log))
        check_log(Path(content["log"]).read_text("utf-8", errors="replace").splitlines())


@pytest.fixture(scope="session")
def stack(shared_stack: dict[str, Any]) -> dict[str, Any]:
    """The stack of a test; a module whose tests change more than they may at the shared one has another."""
    return shared_stack


@pytest.fixture
def operator(stack: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> bootstrap.Hub:
    """The service's parts on the running stack's resources, as the operator's command line has them."""
    for name, value in stack["environment"].items():
        monkeypatch.setenv(name, value)
    return bootstrap.Hub(Settings.from_environment(stack["environment"]))


@pytest.fixture
def tpp(stack: dict[str, Any]) -> Tpp:
    return Tpp(stack["base_url"], stack["client"]["client_id"], stack["client"]["callback_url"])
