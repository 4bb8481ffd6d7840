"""The documents agree with the code: routes, settings, limits, targets, links, and examples."""

import json
import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from app import app
from chalicelib.bootstrap import PLANS
from chalicelib.cards.payments.pending_index import ASKING_SECONDS
from chalicelib.cards.protocol.fields import PAGE
from chalicelib.cards.protocol.values import CUT_OFF_SECONDS, HOLD_SECONDS, MOST_ADDRESSES
from chalicelib.cards.storage import due_index, time_ordered
from chalicelib.demo_bank.faults import FAULTS, FAULTS_BY_NAME, MANY_ACCOUNTS, MANY_TRANSACTIONS, SLOW_SECONDS
from chalicelib.demo_bank.instructions import REFERENCES
from chalicelib.demo_bank.profiles import PROFILES
from chalicelib.demo_bank.refusals import (
    INSUFFICIENT_FUNDS,
    OUT_OF_SERVICE,
    PAYMENT_REFUSED,
    RETRY_AFTER_SECONDS,
    TOO_MANY_REQUESTS,
)
from chalicelib.demo_bank.runtime import TOO_LONG_SECONDS
from chalicelib.foundation.crypto import signatures
from chalicelib.foundation.fields.field_types import PROBLEMS, Message
from chalicelib.foundation.fields.problems import InvalidMessage
from chalicelib.foundation.http.web import BODY_BYTES, OTHERS
from chalicelib.foundation.jsontext import DEPTH
from chalicelib.foundation.settings import Settings
from chalicelib.openbanking.bank_client import bank_answers, bank_client
from chalicelib.openbanking.protocol.bank_calls import SaveConsent
from chalicelib.openbanking.protocol.tpp_calls import AuthorizeRequest
from chalicelib.openbanking.protocol.tpp_events import EXPIRING_SECONDS
from chalicelib.openbanking.records import order_answers
from chalicelib.openbanking.records.bank_record import LONGEST_CONSENT_DAYS
from chalicelib.statistics import measurements
from chalicelib.website import rendered_files
from chalicelib.website.page_links import CLOCK, PAGES
from infra.admin.commands import program
from infra.admin.output import LONGEST_OVERLAP
from infra.render.docs.inserted_tables import without_tables
from tests.kit.documents import (
    ARCHITECTURE,
    BANK,
    BLOCK,
    CARD_NETWORK,
    CONSENTS,
    DATA,
    DEFERRED,
    DELIVERY,
    DOCUMENTS,
    EXTERNAL_PAYMENTS,
    FAULTS_PAGE,
    LOGS,
    OPERATIONS,
    PAYMENTS,
    REFERENCE,
    REQUESTS,
    ROOT,
    SANDBOX,
    blocks,
    everything,
    named,
    reference,
    rows,
    section,
    tables,
)

pytestmark = pytest.mark.usefixtures("rendered")

LONGEST_DOCUMENT, ALL_DOCUMENTS = 3_000, 50_000
"""The maximum number of words of a document, and of all handwritten documents together."""
CODE = ("chalicelib", "infra", "sdk/src", "tests")
DECISIONS = re.compile(r"(?:[(;] ?|\bsee )decisions[:,] [A-Z/a-z0-9]|\bthe decisions (?:say|describe)", re.IGNORECASE)
"""The pattern of references to the decisions document, which is not in the repository."""
VECTOR = json.loads((ROOT / "tests/foundation/crypto/vector.json").read_text("utf-8"))


def longest(model: type[Message], member: str, value: Any) -> int:
    with pytest.raises(InvalidMessage) as refused:
        model.read({member: value})
    (reason,) = [problem.reason for problem in refused.value.problems if problem.field == member]
    return int(re.findall("[0-9]+", reason)[0])


def anchors(text: str) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", BLOCK.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


# -- Routes and settings


def documented_routes() -> Iterator[tuple[str, str]]:
    """Yield methods and paths of the service. Catch-all routes, demonstration banks, pages and files are omitted."""
    for path, methods in app.routes.items():
        if path in (*PAGES, CLOCK) or path.startswith(("/demo-bank", "/static", "/{first}")):
            continue
        yield from ((method, path) for method in methods if method != OTHERS)


@pytest.mark.parametrize(("method", "path"), list(documented_routes()))
def test_every_route_is_documented(method: str, path: str) -> None:
    assert named(everything(), f"{method} {path}")


# -- Operations


class Recorder(dict[str, str]):
    def __init__(self, values: Mapping[str, str]) -> None:
        super().__init__(values)
        self.asked: set[str] = set()

    def get(self, name: str, default: Any = None) -> Any:
        self.asked.add(name)
        return super().get(name, default)

    def __getitem__(self, name: str) -> str:
        self.asked.add(name)
        return super().__getitem__(name)


def test_docs_list_exactly_the_settings() -> None:
    environ = Recorder({"STAGE": "dev", "PUBLIC_URL": "https://causeway.example"})
    Settings.from_environment(environ)

    assert {row[0] for row in rows(reference("settings")) if row[0].isupper()} == environ.asked


@pytest.mark.parametrize(
    ("row", "value"),
    [
        ("Scopes of a request or a consent", longest(SaveConsent, "scopes", ["a"] * 9999)),
        ("Scopes of a request or a consent", longest(AuthorizeRequest, "scopes", ["a"] * 9999)),
        ("Measurements of an instance", measurements.WRITE_INTERVAL),
        ("Measurements that could not be written", measurements.MAX_UNWRITTEN),
        ("Wait that a bank may ask for", bank_client.LONGEST_WAIT),
        ("External payment addresses of an account", MOST_ADDRESSES),
        ("Payments, and holds, handled in a run of finish", due_index.MOST),
    ],
)
def test_docs_list_the_limits_defined_in_the_code(row: str, value: int) -> None:
    limits = {cells[0]: cells[1] for cells in rows(section(OPERATIONS, "## Limits"))}

    assert re.findall(r"[0-9]+", limits[row])[0] == str(value)


@pytest.mark.parametrize(
    ("page", "words"),
    [
        (REQUESTS, f"at most {BODY_BYTES} bytes"),
        (REQUESTS, f"nested at most {DEPTH} deep"),
        (REQUESTS, f"up to {PROBLEMS} `additionalErrors`"),
        (BANK, f"at most {longest(SaveConsent, 'request_url', 'a' * 99999)} characters"),
        (BANK, f"of at most {longest(SaveConsent, 'account_ids', ['a'] * 9999)} entries"),
        (BANK, f"1 to {LONGEST_CONSENT_DAYS} days"),
        (BANK, f"at most {bank_answers.HANDED_ON_BYTES} bytes"),
        (CONSENTS, f"{LONGEST_CONSENT_DAYS} at most"),
        (PAYMENTS, f"for {order_answers.KIND.lifetime // 3600} hours"),
        (PAYMENTS, f"more than {order_answers.RUNNING_SECONDS} s ago"),
        (DEFERRED, f"{PLANS['relay'].retention // 3600} hours from the 202"),
        (DEFERRED, f"{PLANS['payment'].retention // 3600} hours from the 202"),
        (DELIVERY, f"less than {EXPIRING_SECONDS // (24 * 3600)} days"),
        (OPERATIONS, f"at most {LONGEST_OVERLAP}"),
        (OPERATIONS, f"asks the provider after {ASKING_SECONDS} s"),
        (EXTERNAL_PAYMENTS, f"{CUT_OFF_SECONDS // 3600} hours later"),
        (CARD_NETWORK, f"after {HOLD_SECONDS // (24 * 3600)} days"),
        (CARD_NETWORK, f"{PAGE} at the most"),
        (DATA, f"in {time_ordered.SHARDS} partitions"),
    ],
)
def test_docs_list_the_numbers_defined_in_the_code(page: str, words: str) -> None:
    assert words in " ".join(page.split())


def test_docs_list_exactly_the_log_lines() -> None:
    sources = [path.read_text("utf-8") for path in (ROOT / "chalicelib").rglob("*.py")]
    written = {event for source in sources for event in re.findall(r"log\.\w+\(\s*\"([^\"]+)\"", source)}
    written |= {event for source in sources for event in re.findall(r"try_to\([^\"]*\"([^\"]+)\"", source)}
    refused = r"security_refusals\.record\(\s*\"\w+\",\s*\"([^\"]+)\""
    written |= {event for source in sources for event in re.findall(refused, source)}
    due_items = {what for source in sources for what in re.findall(r"DueItems\(.+, \"(\w+)\"\)", source)}
    of_each = re.findall(
        r"log\.\w+\(f\"\{self\.what\} ([^\"]+)\"", (ROOT / "chalicelib/cards/storage/due_index.py").read_text("utf-8")
    )
    written |= {f"{what} {event}" for what in due_items for event in of_each}
    cells = [row[0] for row in rows(LOGS)[2:]]

    assert {re.sub("^demo bank: .*", "demo bank: …", event) for event in written} == {
        event for cell in cells for event in cell.split(", ")
    }


def test_docs_list_exactly_the_tables() -> None:
    made = re.findall(
        r"TableName: !Sub \"causeway-\$\{Stage\}-([a-z-]+)\"", (ROOT / "infra/resources.yaml").read_text("utf-8")
    )
    (found,) = (table[2:] for table in tables(DATA) if table[0][0] == "Table")

    assert {row[0].partition(",")[0] for row in found} == set(made)


def test_every_path_in_contributing_exists() -> None:
    named = re.findall(r"`([\w./*-]+(?:\.py|\.md|\.yaml|/|/run))`", (ROOT / "CONTRIBUTING.md").read_text("utf-8"))
    below = [path for path in (ROOT / "chalicelib").rglob("*") if path.is_dir()]
    folders = (ROOT, ROOT / "chalicelib", *below, ROOT / "infra/render/openapi", ROOT / "tests/openbanking")
    made_up = {"openbanking/protocol/v3_version.py", "openbanking/unified/v3_tables.py", "demo_bank/format_v3.py"}

    missing = {each for each in named if not any(any(folder.glob(each)) for folder in folders)}

    assert missing == made_up


def test_docs_list_every_package_in_the_layout_of_the_code() -> None:
    (listing,) = blocks(section(ARCHITECTURE, "## Layout"), "text")
    path: list[str] = []
    named = set()
    for line in listing.splitlines():
        entry = re.match(r"( *)([\w./-]+)(?= |$)", line)
        if entry and len(entry[1]) < 8:
            path[len(entry[1]) // 2 :] = [entry[2]]
            named.add("".join(path))
    packages = {
        f"{file.parent.relative_to(ROOT).as_posix()}/"
        for folder in ("chalicelib", "infra")
        for file in (ROOT / folder).glob("*/**/__init__.py")
    }

    assert {name for name in named if not (ROOT / name).exists()} == set()
    assert packages - named == {"infra/render/openapi/cards/"}


def test_docs_list_the_test_references_of_the_demonstration_banks() -> None:
    found = [row for row in rows(section(SANDBOX, "## Test references")) if row[0].startswith("TEST-")]

    assert [row[:3] for row in found] == [[each.name, each.when, each.what.removesuffix(".")] for each in REFERENCES]
    assert all(row[3] for row in found)
    for row, refusal in zip(found, (INSUFFICIENT_FUNDS(), PAYMENT_REFUSED()), strict=False):
        assert f"{refusal.number}: … or {refusal.name}: …" in row[3]


def test_docs_list_every_fault_with_its_effect_and_advice() -> None:
    found = rows(section(FAULTS_PAGE, "## The faults"))
    banks = [row for row in rows(FAULTS_PAGE) if row[0].startswith("Demo Fault Bank")]

    assert [(row[0], row[1], row[3]) for row in found if row[0] in FAULTS_BY_NAME] == [
        (fault.name, fault.what.replace("`", ""), fault.advice.replace("`", "").removesuffix(".")) for fault in FAULTS
    ]
    assert all(row[2] for row in found)
    assert banks == [[each.title, each.bic, str(each.version)] for each in PROFILES if each.plays_faults]
    seen = {row[0]: row[2] for row in found}
    for name, refusal in (("down", OUT_OF_SERVICE()), ("rate-limited", TOO_MANY_REQUESTS())):
        assert f"{refusal.number}: … or {refusal.name}: …" in seen[name]
    assert f"{SLOW_SECONDS} seconds" in FAULTS_BY_NAME["slow"].what
    assert f"{TOO_LONG_SECONDS} seconds" in FAULTS_BY_NAME["silent"].what
    assert f"Retry-After: {RETRY_AFTER_SECONDS}" in FAULTS_BY_NAME["rate-limited"].what
    assert f"{MANY_ACCOUNTS} accounts, and {MANY_TRANSACTIONS:,} transactions" in FAULTS_BY_NAME["many"].what


def test_the_sandbox_page_lists_the_demonstration_banks() -> None:
    found = [row[:3] for row in rows(SANDBOX) if row[0].startswith("Demo ")]
    assert found == [[each.title, each.bic, str(each.version)] for each in PROFILES]


def test_docs_list_exactly_the_make_targets() -> None:
    targets = set(re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    text = everything()
    code = "\n".join([*blocks(text, "sh"), *blocks(text, "bash"), *re.findall(r"`(.+?)`", text)])

    assert set(re.findall(r"\bmake ([a-z-]+)", code)) == targets


def test_docs_list_exactly_the_operator_commands() -> None:
    alone = {str(command.name) for command in program.registered_commands}
    grouped = {
        f"{group.name} {command.name}"
        for group in program.registered_groups
        if group.typer_instance is not None
        for command in group.typer_instance.registered_commands
    }
    headings = re.findall(r"^### `(.+)`$", reference("commands"), re.MULTILINE)

    assert set(headings) == alone | grouped


# -- Links and examples


@pytest.mark.parametrize("name", ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "sdk/README.md", *DOCUMENTS])
def test_every_link_in_the_docs_leads_to_an_existing_page_and_heading(name: str) -> None:
    text = (ROOT / name).read_text("utf-8")
    for target in re.findall(r"\]\((?!https?:)([^)]+)\)", BLOCK.sub("", text)):
        path, _, anchor = target.partition("#")
        file = (ROOT / name).parent / path if path else ROOT / name
        if path.startswith("/docs/reference/"):  # on the site only
            file = rendered_files.FOLDER / f"{path.removeprefix('/')}.md"
        assert file.exists(), target
        assert not anchor or anchor in anchors(file.read_text("utf-8")), target


# -- Length


def test_documents_have_at_most_3000_words_and_all_together_50000() -> None:
    """Words are counted in the same way as by ``wc -w``. Generated tables and that of security clauses are excluded."""
    written = {name: text for name, text in DOCUMENTS.items() if name != "docs/concepts/security-profile.md"}
    others = ("README.md", "CONTRIBUTING.md", "sdk/README.md")
    written |= {name: (ROOT / name).read_text("utf-8") for name in others}
    words = {name: len(without_tables(text).split()) for name, text in written.items()}

    assert {name: number for name, number in words.items() if number > LONGEST_DOCUMENT} == {}
    assert sum(words.values()) <= ALL_DOCUMENTS


def test_documents_that_the_code_references_exist() -> None:
    tracked = ["app.py", *(str(path) for top in CODE for path in sorted((ROOT / top).rglob("*.py")))]
    texts = {name: (ROOT / name).read_text("utf-8") for name in tracked if not name.endswith(Path(__file__).name)}

    missing = {
        (name, document)
        for name, text in texts.items()
        for document in re.findall(r"``(docs/[\w/-]+\.md)``", text)
        if document not in DOCUMENTS
    }
    decisions = [name for name, text in texts.items() if DECISIONS.search(text)]
    assert any("``docs/concepts/payments.md``" in text for text in texts.values())
    assert (missing, decisions) == (set(), [])


@pytest.mark.parametrize("text", ["(decisions: X-Request-Id)", "(decisions, points 5 and 6)", "See decisions: Banks."])
def test_a_reference_to_the_decisions_document_is_detected(text: str) -> None:
    assert DECISIONS.search(text)


def test_documents_contain_no_placeholder_text() -> None:
    folders = [folder for folder in ROOT.iterdir() if folder.is_dir() and not folder.name.startswith((".", "build"))]
    files = [*ROOT.glob("*.md"), *(file for folder in folders for file in folder.rglob("*.md"))]

    assert {"README.md", "CHANGELOG.md"} <= {file.name for file in files}
    assert [file.name for file in files if "@@" in file.read_text("utf-8")] == []


@pytest.mark.parametrize("name", [*DOCUMENTS, *REFERENCE])
def test_the_examples_in_the_docs_can_be_parsed(name: str) -> None:
    text = DOCUMENTS.get(name) or reference(name)
    for example in blocks(text, "json"):
        json.loads(example)
    for example in blocks(text, "python"):
        compile(example, name, "exec")
    for example in blocks(text, "bash"):
        subprocess.run(["bash", "-n"], input=example, text=True, check=True)


def test_the_signature_test_vector_in_docs_equals_the_vector_in_the_tests_and_is_valid() -> None:
    (example,) = [block for block in blocks(BANK, "bash") if "BEGIN PUBLIC KEY" in block]
    body, signature = re.findall(r"^printf '%s' '(.*)' > ", example, re.MULTILINE)
    public_key = example.partition("<<'END'\n")[2].partition("END\nprintf")[0]

    assert body == VECTOR["body"]
    assert signature == VECTOR["signature"]
    assert public_key == VECTOR["public_key"]
    assert VECTOR["key_id"] in BANK
    assert signatures.verify([signatures.load_public_key(public_key)], body.encode(), signature)


@pytest.mark.needs("openssl")
def test_the_openssl_commands_in_docs_verify_the_signature_test_vector(tmp_path: Path) -> None:
    files, verify = [block for block in blocks(BANK, "bash") if "signature.b64" in block]

    done = subprocess.run(
        ["bash", "-e"], input=files + verify, cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stdout) == (0, "Verified OK\n")


def test_the_first_commands_of_the_readme_are_make_targets_on_separate_lines() -> None:
    commands = re.findall(r"```sh\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)[0]

    assert [line.split()[:2] for line in commands.splitlines()] == [["make", "run"], ["make", "test"]]
