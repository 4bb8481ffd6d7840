"""Parsers of documents: blocks, tables and sections, and the steps of guides with their output.

Tests of rendered reference pages use the fixture ``rendered``. A guide contains the output of one run. Values that
change in each run (``_OTHER_EACH_TIME``) may differ. If two ids are equal in a guide, they must be equal in a run; if
they differ in a guide, they must differ in a run. ``…`` and the word before ``…`` replace omitted text of a line. All
other text must be equal.
"""

import contextlib
import difflib
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

from chalicelib.website import rendered_files
from infra.render.docs.site_pages import GENERATED, page_names
from tests.kit.time import PATIENCE_SECONDS

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in sorted(ROOT.glob("docs/**/*.md"))}
README = (ROOT / "README.md").read_text("utf-8")
EVERYTHING = "\n".join([README, *DOCUMENTS.values()])
"""The text of the README and of all documents, without the rendered reference."""
OPERATIONS, ALARMS_PAGE, LOGS, PROGRAMME_FILE, DATA, STATISTICS = (
    DOCUMENTS[f"docs/{name}.md"] for name in ("operations", "alarms", "logs", "programme-file", "data", "statistics")
)
CLIENT_SECURITY = DOCUMENTS["docs/concepts/client-security.md"]
BANK, CONSENTS, DEFERRED, DELIVERY, PAYMENTS, REQUESTS, VERSIONS = (
    DOCUMENTS[f"docs/concepts/{name}.md"]
    for name in (
        "bank-integration",
        "consents-and-tokens",
        "deferred-calls",
        "delivery",
        "payments",
        "requests",
        "versions",
    )
)
CARD_REQUESTS, CARD_DATA, CARD_NETWORK, EXTERNAL_PAYMENTS, LEDGER = (
    DOCUMENTS[f"docs/concepts/{name}.md"]
    for name in ("card-requests", "card-data", "card-network", "external-payments", "ledger")
)
CARDS = "\n".join([CARD_REQUESTS, CARD_DATA, CARD_NETWORK, EXTERNAL_PAYMENTS, LEDGER])
SANDBOX, ARCHITECTURE, CAPACITY, DEPLOYMENT = (
    DOCUMENTS[f"docs/{name}.md"] for name in ("sandbox", "architecture", "capacity", "deployment")
)
FAULTS_PAGE, CUSTOMERS_PAGE = (DOCUMENTS[f"docs/guides/tpp-{name}.md"] for name in ("faults", "customers"))
REFERENCE = [name.removeprefix(GENERATED) for name in page_names() if name.startswith(GENERATED)]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def reference(name: str) -> str:
    return rendered_files.read(f"docs/{GENERATED}{name}.md")


def everything() -> str:
    """Return the text of the README and of all documents, including the rendered reference."""
    return "\n".join([EVERYTHING, *map(reference, REFERENCE)])


def blocks(text: str, language: str) -> list[str]:
    return [content for kind, content in BLOCK.findall(text) if kind == language]


def rows(text: str) -> list[list[str]]:
    """Return the cells of all table rows, without backticks."""
    return [cells for table in tables(text) for cells in table]


def tables(text: str) -> list[list[list[str]]]:
    """Return the rows of every table. The first row is the header, and the second row is the separator."""
    found = re.findall(r"(?:^\|.*\n?)+", text, re.MULTILINE)
    return [[_cells(line) for line in table.splitlines()] for table in found]


def _cells(line: str) -> list[str]:
    return [cell.strip().replace("`", "") for cell in line.strip("|").split("|")]


def section(text: str, heading: str) -> str:
    """Return the text below a heading, up to the next heading of the same or a higher level."""
    level = heading.index(" ")
    found = re.search(
        rf"^{re.escape(heading)}$(.*?)(?=^#{{1,{level}}} |\Z)",
        BLOCK.sub(lambda block: re.sub("^#", " ", block[0], flags=re.MULTILINE), text),
        re.DOTALL | re.MULTILINE,
    )
    assert found, f"there is no heading {heading}"
    return found[1]


def named(text: str, name: str) -> bool:
    return bool(re.search(rf"(?<![\w/]){re.escape(name)}(?![\w/{{])", text))


_RELEASE = re.compile(r"^## (?P<version>\d+\.\d+\.\d+) \((?P<day>\d{4}-\d{2}-\d{2})\)$", re.MULTILINE)


def releases(changelog: str) -> list[tuple[str, date]]:
    return [(found["version"], date.fromisoformat(found["day"])) for found in _RELEASE.finditer(changelog)]


_OTHER_EACH_TIME = {
    "uuid": r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b",
    "record": r"\b[0-9a-f]{22}\b",
    "payment": r"\b[a-z2-7]{18}\b",
    "key": r"\b[0-9a-f]{16}\b",
    "time": r"\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?\+00:00",
    "day": r"\b20\d\d-\d\d-\d\d\b",
    "duration": r"\b\d+(?:\.\d+)?(?= ms\b)|(?<=dur=)\d+\.\d",
}
_MEMBERS = {
    *("id", "holder_id", "account_id", "card_id", "card_request_id", "transaction_id", "authorize_id", "dispute_id"),
    *("epm_transaction_id", "epm_mandate_id", "parent_transaction_id", "transaction_log_id", "trans_link"),
    *("iban", "external_transaction_reference", "pan", "cvc2", "acs_password", "expiration"),
    *("auth_code", "stan", "trace_id", "trace_number", "retrieval_reference_number"),
    *("created_at", "cut_off", "date_updated", "date_valid", "settlement_date", "reconciliation_date"),
    *("transmission_date", "transmission_time", "transaction_local_time", "acquirer_processing_date"),
}
"""Members of card API responses that have different values in each run."""
_NAMES = re.compile("uuid|record|payment|key|trans_link|(.*_)?id")
"""The pattern of the names of changing values that identify an object. All other changing values are measurements."""
_SHOWN = re.compile(
    "|".join(f"(?P<{kind}>{pattern})" for kind, pattern in _OTHER_EACH_TIME.items())
    + rf'|"(?P<member>{"|".join(sorted(_MEMBERS))})":(?P<gap> ?)(?P<value>\d+|"[^"…]*")|(?P<left_out>[\w-]*…)'
)
_ENDED = "--- this command has ended"


@dataclass(frozen=True)
class Step:
    commands: str
    printed: str
    language: str = "sh"


def steps(text: str) -> list[Step]:
    """Return the steps of a guide.

    Raises: ValueError: the guide has an output without a command, or a block in another language.
    """
    found: list[Step] = []
    for language, content in BLOCK.findall(text):
        if language in ("sh", "python"):
            found.append(Step(content, "", language))
        elif language == "text" and found and not found[-1].printed:
            found[-1] = replace(found[-1], printed=content)
        else:
            raise ValueError(f"a guide has commands and what they print, and not: {content}")
    return found


class Reading:
    """A comparison of the output of a guide's commands with the guide. The comparison stores the ids of all steps."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], str] = {}
        self._shown: dict[tuple[str, str], str] = {}

    def difference(self, shown: str, found: str) -> str:
        """Return the difference between the guide's output and the actual output, or an empty string."""
        kinds: list[tuple[str, str]] = []
        pattern, end = "", 0
        for other in _SHOWN.finditer(shown):
            pattern += re.escape(shown[end : other.start()])
            end = other.end()
            if other["left_out"]:
                pattern += ".+?"
            elif other["member"]:
                kinds.append((other["member"], other["value"]))
                pattern += re.escape(f'"{other["member"]}":{other["gap"]}') + r'(\d+|"[^"]*")'
            else:
                kinds.append((str(other.lastgroup), other[0]))
                pattern += f"({_OTHER_EACH_TIME[str(other.lastgroup)]})"
        same = re.fullmatch(pattern + re.escape(shown[end:]), found)
        if not same:
            lines = difflib.unified_diff(shown.split("\n"), found.split("\n"), "shown", "printed", lineterm="", n=99)
            return "\n".join(lines)
        pairs = zip(kinds, same.groups(), strict=True)
        return "\n".join(filter(None, [self._other(kind, before, now) for (kind, before), now in pairs]))

    def _other(self, kind: str, before: str, now: str) -> str:
        """Return an error if example values and actual values do not correspond one to one, or else an empty string."""
        if not _NAMES.fullmatch(kind):
            return ""
        first, second = self._found.setdefault((kind, before), now), self._shown.setdefault((kind, now), before)
        if (first, second) == (now, before):
            return ""
        return f"{kind}: {now} stands for {before}, but {before} is {first} elsewhere, or {now} {second}"


class Shell:
    """A bash process in a folder that runs commands. Child processes of the shell end with the shell."""

    SECONDS: float = PATIENCE_SECONDS
    COMMAND: Sequence[str] = ("bash",)
    PLAY = f". ./typed < /dev/null; printf '\\n%s %s\\n' '{_ENDED}' $?"

    def __init__(self, folder: Path, environ: Mapping[str, str]) -> None:
        self._file = folder / "typed"
        self._process = subprocess.Popen(
            self.COMMAND,
            cwd=folder,
            env=environ,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def run(self, commands: str) -> tuple[str, int]:
        """Run the commands. Return their output without trailing line breaks, and the exit code of the last command.

        Raises: TimeoutError: the commands time out, or the shell has ended.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._file.write_text(commands, "utf-8")
        too_long = threading.Timer(self.SECONDS, self._kill)
        too_long.start()
        try:
            print(self.PLAY, file=self._process.stdin, flush=True)
            printed = ""
            for line in self._process.stdout:
                if line.startswith(_ENDED):
                    return printed.rstrip("\n"), int(line.split()[-1])
                printed += line
        finally:
            too_long.cancel()
        raise TimeoutError(f"this does not end:\n{commands}\n{printed}")

    def end(self) -> None:
        self._kill()
        self._process.communicate()

    def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)


class PythonSession(Shell):
    COMMAND = (sys.executable, "-u", "-m", "tests.kit.pythons", "session", _ENDED)
    PLAY = "typed"


def with_addresses(text: str, addresses: Mapping[str, str]) -> str:
    ports = re.compile(r"(?<!\d)(" + "|".join(addresses) + r")(?!\d)")
    return ports.sub(lambda port: addresses[port[1]], text)


def ports_of(text: str) -> set[str]:
    """Return the server ports between 9700 and 9799 that a guide uses."""
    return set(re.findall(r"(?<!\d)97\d\d(?!\d)", text))
