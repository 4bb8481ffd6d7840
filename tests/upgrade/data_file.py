"""The stored data of a release as a text file with one JSON document per line, and an emulator that starts with this
data.

The first line contains the ``facts`` for the tests: credentials, tokens and ids. Each other line is the emulator's
``seed``, from which the emulator derives all keys, a ``secret``, or an ``item`` of a ``table``.
"""

import json
import os
import sqlite3
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from infra.local.emulator_state import EmulatorState
from infra.local.process import ChildProcess, python_command
from infra.local.resources import STACK, create_resources
from tests.infra.deployment import for_stage

RELEASED = Path(__file__).with_name("released.jsonl")


def write(file: Path, state: Path, facts: Mapping[str, Any]) -> None:
    """Write an emulator's ``state`` as text, without messages and transaction tokens."""
    lines: list[Mapping[str, Any]] = [{"facts": facts}]
    with closing(sqlite3.connect(state)) as database:
        for kind, place, key, value in database.execute("SELECT * FROM entries ORDER BY kind DESC, place, key"):
            match kind:
                case "seed":
                    lines.append({"seed": value})
                case "secret":
                    lines.append({"secret": key, "region": place, "value": json.loads(value)})
                case "item":
                    lines.append({"table": place.removeprefix(f"{STACK}-"), "item": json.loads(value)})
    texts = [json.dumps(line, ensure_ascii=False, separators=(",", ":")) for line in lines]
    file.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")


def read(file: Path = RELEASED) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the test data (``facts``) in the first line of the file, and the parsed remaining lines."""
    first, *others = map(json.loads, file.read_text(encoding="utf-8").splitlines())
    return first["facts"], others


def restore(lines: list[dict[str, Any]], state: Path) -> None:
    EmulatorState(state)
    with closing(sqlite3.connect(state)) as database, database:
        database.executemany("INSERT INTO entries VALUES (?, ?, ?, ?)", map(_entry, lines))


def _entry(line: Mapping[str, Any]) -> tuple[str, str, str, str]:
    match line:
        case {"seed": seed}:
            return "seed", "", "", seed
        case {"secret": name, "region": region, "value": value}:
            return "secret", region, name, json.dumps(value)
        case {"table": table, "item": item}:
            key = [item[name] for name in key_attributes()[table]]
            return "item", f"{STACK}-{table}", json.dumps(key), json.dumps(item)
    raise ValueError(f"not a line of data: {[*line]}")


def key_attributes() -> dict[str, list[str]]:
    tables = for_stage("local").tables()
    return {
        table["TableName"].removeprefix(f"{STACK}-"): [key["AttributeName"] for key in table["KeySchema"]]
        for table in tables
    }


@contextmanager
def emulator(state: Path) -> Iterator[None]:
    """Run an emulator with this state and the stack's resources; new AWS clients use the emulator."""
    child = ChildProcess(python_command("infra.local.emulator", "--state", str(state)), output=subprocess.PIPE)
    try:
        os.environ["AWS_ENDPOINT_URL"] = child.first_line()
        create_resources(emulated=True, dynamodb_apart=False)
        yield
    finally:
        os.environ.pop("AWS_ENDPOINT_URL", None)
        child.stop()
