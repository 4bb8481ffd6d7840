"""Shared fixtures: fake credentials, an emulator with the resources in this process, and one running stack."""

from __future__ import annotations

import gc
import logging
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, nullcontext
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, settings

from tests.kit import endpoint

ENDPOINT = endpoint.given(os.environ)
"""The endpoint of the emulator on which ``make test-emulator`` runs the end-to-end tests."""
os.environ.update(
    AWS_ACCESS_KEY_ID="test",
    AWS_SECRET_ACCESS_KEY="test",
    AWS_DEFAULT_REGION="eu-west-1",
    AWS_REGION="eu-west-1",
    STAGE="local",
)
DYNAMODB_ENGINE = os.environ.get("DYNAMODB_ENGINE", "")
"""The DynamoDB engine of ``make test-dynamodb`` and ``make test-dynoxide``. Each test process starts an engine."""
os.environ.update(endpoint.credentials(ENDPOINT))
for variable in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_DYNAMODB", "PORT", "PUBLIC_URL", "BANK_API_URL", "AWS_PROFILE"):
    os.environ.pop(variable, None)
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # in the background of a shell; what tests start would inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)
if os.environ.pop("PYTHONDONTWRITEBYTECODE", None):  # or every process that a test starts would compile everything anew
    sys.dont_write_bytecode = False

from chalicelib.foundation import context, log  # noqa: E402
from chalicelib.foundation.aws.calls import CAPACITY, REPEATS  # noqa: E402
from chalicelib.foundation.crypto.signatures import sign  # noqa: E402
from infra.repository import ROOT  # noqa: E402
from tests.causeway import Causeway  # noqa: E402
from tests.kit import emulator  # noqa: E402

if TYPE_CHECKING:
    from chalicelib.bootstrap import Hub
    from tests.cards.leak_watch import Watch
    from tests.e2e.parties import Tpp

settings.register_profile(
    "tests", deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
settings.load_profile("tests")  # no example has a time limit, on a busy machine neither

logging.getLogger().addHandler(logging.NullHandler())  # or warnings of libraries would go to standard error
emulator.answer_calls()  # before ``leak_watch`` wraps the same method, and so sees each call
log.logger()  # writes where pytest looks, and not wherever a test that logs first has its output go
pytest_plugins = ["tests.cards.leak_watch", "tests.kit.logs", "tests.kit.processes", "tests.log_traces"]

ON_SHARED_STACK = re.compile(
    "tests/(browser/test_first_steps|e2e/test_(contention|customers|deliveries|documented_clients|faults|first_answer|first_data|guides"
    "|journey|late_faults|mails|readme|standard_clients|trace))[.]py::"
)
"""Modules of ``make test`` that use the shared stack. One test process starts the stack and runs all of these modules.
"""
ON_DEPLOYED_STAGES = re.compile("tests/rehearsal/test_(deployed|redeployed|unpacked)[.]py::")
"""Modules of ``make rehearse`` that use the deployed stages. One test process deploys and runs all of these modules."""
STORAGE_FAULTS = "tests/openbanking/storage_faults/"
"""Modules with scenarios that together reach every storage call. One test process runs all of these modules."""
LONG_ROOMS = ("tests/e2e/", "tests/browser/", "tests/infra/", "tests/bench/", "tests/openbanking/test_hub_histories")
"""The beginnings of paths of slow tests, which run first so that all test processes finish at about the same time."""
APART = ("_histories.py", "test_documented_starts.py")
"""Modules with a few slow tests, which any test process may run one by one."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: not item.nodeid.startswith(LONG_ROOMS))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Assign all tests of a file to one process. Group the files on the shared stack, those on deployed stages, and the
    storage fault files. Assign each test of ``APART`` separately.
    """
    from xdist.scheduler import LoadFileScheduling

    if config.getvalue("dist") != "loadfile":
        return None
    made = LoadFileScheduling(config, log)
    made._split_scope = _scope_of
    return made


def _scope_of(nodeid: str) -> str:
    if ON_SHARED_STACK.match(nodeid):
        return "stack"
    if ON_DEPLOYED_STAGES.match(nodeid):
        return "stages"
    if nodeid.startswith(STORAGE_FAULTS):
        return STORAGE_FAULTS
    module = nodeid.partition("::")[0]
    return nodeid if module.endswith(APART) else module


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Exclude the million imported and collected objects from garbage collection, to save time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(autouse=True)
def full_repeat_budget() -> None:
    REPEATS.give_back(CAPACITY)


@pytest.fixture(autouse=True)
def no_log_members() -> None:
    """Remove log members that an unfinished request of the previous test left behind."""
    context.clear()


@pytest.fixture(scope="session")
def resources(leak_watch: Watch) -> Iterator[None]:
    """Create the resources of the real template once, in an emulator in this process.

    At the end, check that no table contains readable card data.
    """
    from moto import mock_aws

    from infra.local.engines import DYNAMODB_ENGINES
    from infra.local.resources import create_resources

    emulator.install()
    with mock_aws(), ExitStack() as ending:
        if DYNAMODB_ENGINE:
            engine = ending.enter_context(DYNAMODB_ENGINES[DYNAMODB_ENGINE]())
            os.environ["AWS_ENDPOINT_URL_DYNAMODB"] = engine.wait()
        with _nothing_expires() if DYNAMODB_ENGINE else nullcontext():
            create_resources(emulated=True, dynamodb_apart=bool(DYNAMODB_ENGINE))
        yield
        leak_watch.search_tables()


def _nothing_expires() -> AbstractContextManager[Any]:
    """Disable the emulator's removal of expired items, which uses the system clock instead of the tests' clock."""
    return patch("infra.local.resources.expire_items")


@pytest.fixture(scope="session")
def shared_causeway(resources: None) -> Iterator[Causeway]:
    """Create the service once and cache signatures, because creating keys, banks and signatures takes time."""
    with patch("chalicelib.openbanking.bank_client.bank_client.sign", lru_cache(1024)(sign)):
        yield Causeway.first()


@pytest.fixture
def causeway(shared_causeway: Causeway) -> Iterator[Causeway]:
    """Provide the whole service in this process, with a manual clock, scripted banks and a new client."""
    fresh = shared_causeway.again()
    with fresh.installed():
        yield fresh


@pytest.fixture
def subtests(subtests: pytest.Subtests) -> Iterator[pytest.Subtests]:
    """Wrap pytest's fixture ``subtests``, and check that the test runs at least one subtest."""
    with patch.object(subtests, "test", wraps=subtests.test) as tried:
        yield subtests
    assert tried.called, "the test has tried no case"


@pytest.fixture(scope="session")
def rendered() -> None:
    """Render outdated documents once per test run. If tests run in several processes, one process renders while the
    others wait.
    """
    subprocess.run([sys.executable, "-m", "infra.render"], cwd=ROOT, check=True)


@pytest.fixture(scope="session")
def stack_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("stack") / "log"


@pytest.fixture(scope="session")
def shared_stack(stack_log: Path, rendered: None) -> Iterator[dict[str, Any]]:
    """Start one stack as ``make run`` does, and provide its stack file to all tests that call the service over HTTP.

    The stack has separate data, because its worker would otherwise process the deliveries of other tests. At a shared
    endpoint, resource names have a prefix. At the end, check the stack's tables and log for card data, and check the
    log with ``log_traces``.
    """
    from infra.local.background import run_stack
    from infra.local.engines import DYNAMODB_ENGINES
    from tests.cards.leak_watch import none_of, read_in_stack
    from tests.kit.stack import wait_for_card_month
    from tests.log_traces import check_log

    environ = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    with ExitStack() as ending:
        if DYNAMODB_ENGINE and not ENDPOINT:
            engine = ending.enter_context(DYNAMODB_ENGINES[DYNAMODB_ENGINE]())
            environ["AWS_ENDPOINT_URL_DYNAMODB"] = engine.wait()
        log = ending.enter_context(stack_log.open("wb"))
        content = ending.enter_context(run_stack(environ=environ, output=log, elsewhere=endpoint.of_a_stack(ENDPOINT)))
        wait_for_card_month(content)
        yield content
        none_of(read_in_stack(content, stack_log))
        check_log(Path(content["log"]).read_text("utf-8", errors="replace").splitlines())


@pytest.fixture(scope="session")
def stack(shared_stack: dict[str, Any]) -> dict[str, Any]:
    """Provide the stack of a test. A module that changes global state overrides this fixture and starts a separate
    stack.
    """
    return shared_stack


@pytest.fixture
def operator(stack: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> Hub:
    """Provide the service's parts with the running stack's resources, as in the operator's command line."""
    from chalicelib.bootstrap import Hub
    from chalicelib.foundation.settings import Settings

    for name, value in stack["environment"].items():
        monkeypatch.setenv(name, value)
    return Hub(Settings.from_environment(stack["environment"]))


@pytest.fixture
def tpp(stack: dict[str, Any]) -> Tpp:
    from tests.e2e.parties import Tpp

    return Tpp(stack["base_url"], stack["client"]["client_id"], stack["client"]["callback_url"])


@pytest.fixture
def quick_hashes() -> Iterator[None]:
    """Use cheap password hashes in tests that do not check the cost of a hash."""
    import argon2

    from chalicelib.foundation.crypto import passwords

    hasher = argon2.PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
    with (
        patch.object(passwords, "hasher", lambda: hasher),
        patch.object(passwords, "nobodys_hash", lambda: hasher.hash("nobody has this password")),
    ):
        yield
