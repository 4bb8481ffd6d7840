"""The documents as tests read them: blocks, tables and sections.

Pages of the reference are rendered: tests that read them use the fixture ``rendered``.
"""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

from chalicelib.website import rendered_files
from infra.render.docs.site_pages import GENERATED, page_names

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in sorted(ROOT.glob("docs/**/*.md"))}
README = (ROOT / "README.md").read_text("utf-8")
EVERYTHING = "\n".join([README, *DOCUMENTS.values()])
"""What people wrote."""
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
"""The names of the pages of the reference."""
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def reference(name: str) -> str:
    """A page of the reference."""
    return rendered_files.read(f"docs/{GENERATED}{name}.md")


def everything() -> str:
    """What people wrote, and the reference."""
    return "\n".join([EVERYTHING, *map(reference, REFERENCE)])


def blocks(text: str, language: str) -> list[str]:
    """The code blocks of one language."""
    return [content for kind, content in BLOCK.findall(text) if kind == language]


def rows(text: str) -> list[list[str]]:
    """The cells of all table rows, without the signs of code."""
    return [cells for table in tables(text) for cells in table]


def tables(text: str) -> list[list[list[str]]]:
    """The rows of every table; the first row is its head, the second the line below."""
    found = re.findall(r"(?:^\|.*\n?)+", text, re.MULTILINE)
    return [[_cells(line) for line in table.splitlines()] for table in found]


def _cells(line: str) -> list[str]:
    return [cell.strip().replace("`", "") for cell in line.strip("|").split("|")]


def section(text: str, heading: str) -> str:
    """What stands below a heading, up to the next of the same or a higher level."""
    level = heading.index(" ")
    found = re.search(
        rf"^{re.escape(heading)}$(.*?)(?=^#{{1,{level}}} |\Z)",
        BLOCK.sub(lambda block: re.sub("^#", " ", block[0], flags=re.MULTILINE), text),
        re.DOTALL | re.MULTILINE,
    )
    assert found, f"there is no heading {heading}"
    return found[1]


def named(text: str, name: str) -> bool:
    """Whether ``name`` stands in ``text`` as a whole word."""
    return bool(re.search(rf"(?<![\w/]){re.escape(name)}(?![\w/{{])", text))


_RELEASE = re.compile(r"^## (?P<version>\d+\.\d+\.\d+) \((?P<day>\d{4}-\d{2}-\d{2})\)$", re.MULTILINE)


def releases(changelog: str) -> list[tuple[str, date]]:
    """Versions and days of all releases, as a changelog's headings have them."""
    return [(found["version"], date.fromisoformat(found["day"])) for found in _RELEASE.finditer(changelog)]
