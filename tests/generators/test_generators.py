"""Each generator makes a client of each document; the client compiles, and calls a stack."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chalicelib.foundation.crypto.signatures import load_private_key, sign
from chalicelib.website import rendered_files
from infra.render.openapi.documents import DOCUMENTS
from tests.fuzzing.openapi_callers import Callers, prepare_callers
from tests.generators.programs import PROGRAMS
from tests.generators.tools import TOOLS, install_npm, run

pytestmark = pytest.mark.generators

EACH = [
    pytest.param(tool, name, id=f"{tool.name}-{name}", marks=pytest.mark.needs(*tool.programs))
    for tool in TOOLS
    for name in DOCUMENTS
]
_REQUEST_ID = "0b7d1c9e-55aa-4c0e-9a39-7f2d11c3a001"
_BANKS = {"bank-v1": (1, "consent_ids"), "bank-v2": (2, "consentIds")}


@pytest.fixture(scope="module")
def callers(shared_stack: dict[str, Any]) -> Iterator[Callers]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in shared_stack["environment"].items():
            patch.setenv(name, value)
        yield prepare_callers(shared_stack)


def credentials(name: str, stack: dict[str, Any], callers: Callers) -> dict[str, str]:
    """Return the environment of a program that makes the document's call."""
    shared = {"HUB": stack["base_url"], "KEY": callers.client_id, "REQUEST_ID": _REQUEST_ID, "SIGNATURE": ""}
    if name in _BANKS:
        version, member = _BANKS[name]
        bank, body = callers.banks[version], json.dumps({member: ["unknown"]}, separators=(",", ":"))
        shared |= {"KEY": bank.api_key, "SIGNATURE": sign(load_private_key(bank.signing_key), body.encode())}
    return shared | {"CREDENTIALS": json.dumps(stack["programme"]["credentials"]["full"])}


def say(request: pytest.FixtureRequest, line: str) -> None:
    """Print a line to the terminal, even while pytest captures output."""
    with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        print(f"\n{line}", flush=True)


@pytest.mark.parametrize(("tool", "name"), EACH)
def test_a_generated_client_compiles_and_calls_a_stack(
    tool: Any, name: str, callers: Callers, stack: dict[str, Any], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    client, document = tool(), tmp_path / "openapi.json"
    document.write_text(rendered_files.read(f"openapi/generators/{name}.json"), "utf-8")
    client.generate(document, tmp_path)
    (tmp_path / f"program.{tool.ending}").write_text(PROGRAMS[name][tool.ending], "utf-8")
    client.check(tmp_path)

    printed = client.call(tmp_path, **credentials(name, stack, callers))

    say(request, f"{tool.name} {tool.version}, {name}: generated, compiled, called: {printed.strip()}")
    assert printed.strip() not in ("", "undefined")


@pytest.mark.needs("npm")
@pytest.mark.usefixtures("rendered")
@pytest.mark.parametrize("name", DOCUMENTS)
@pytest.mark.parametrize("folder", ["openapi", "openapi/generators"])
def test_spectral_finds_no_errors_and_no_warnings(
    name: str, folder: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    tools = install_npm("@stoplight/spectral-cli")
    (tmp_path / "rules.yaml").write_text("extends: ['spectral:oas']", "utf-8")
    document = rendered_files.FOLDER / folder / f"{name}.json"

    run([tools / "spectral", "lint", "--fail-severity", "warn", "--ruleset", "rules.yaml", document], tmp_path)

    say(request, f"Spectral, {folder}/{name}.json: 0 errors, 0 warnings")
