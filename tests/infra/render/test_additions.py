"""Additions to the APIs require changes only in the files that CONTRIBUTING lists. Each addition is applied to a copy
of the
repository.

If run as a program in the folder of a copy, the module reads additions from standard input and prints the missing
parts.
"""

from __future__ import annotations

import importlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, get_args

import pytest

ROOT = Path(__file__).resolve().parents[3]
OPENBANKING, CARDS = "chalicelib/openbanking/protocol", "chalicelib/cards"
RENDER = "infra/render/openapi"
PROTOCOL = OPENBANKING.replace("/", ".")
LIBRARIES = ("pydantic", "chalice", "botocore.session", "cryptography.x509", "jinja2")
"""Libraries that are loaded once for all additions, before the copy's modules."""

Edits = Mapping[str, str]
"""The texts to insert into a file. The key of a text is the existing text that follows the insertion, or an empty
string for the end of the file.
"""


class Addition(NamedTuple):
    """An addition described by one row of CONTRIBUTING's table.

    Attributes:
        row: the first words of the row.
        document: the document that describes the addition.
        name: the addition's name in the document.
        files: the edits by file.
    """

    row: str
    document: str
    name: str
    files: Mapping[str, Edits]

    def without(self, omitted: str) -> Addition:
        return self._replace(files={file: edits for file, edits in self.files.items() if file != omitted})


MEMBER = '''    reference_rate: AN[20] | None = None
    """The rate. Example: ``"1.25"``."""
'''
MODELS = '''

class CardsRequest(AccountRequest):
    """``/v2_account_cards``: the cards of an account."""


class CardsAnswer(OpenMessage):
    """The cards of an account."""

    mask: AN[20]
    """The last digits of the card's number. Example: ``"1111"``."""
'''
WEBHOOK = '''    reads["{call}"] = Webhook("/v2_account_cards", ACCOUNTS, accounts.CardsRequest, accounts.CardsAnswer)
    """Cards. The cards of an account."""
'''
CALL = '''CARDS = RelayedCall("cards", "GET", "/tpp/account_cards", "AISP")
"""List the cards of an account. All of them."""
'''
ANSWER = """        "{call}": lambda call: {{"mask": "1111"}},
"""
REQUEST = '''

class GetLimitNames(Request):
    """getLimitNames: list the names of limits."""

    limit_prefix: ANS[1, 9] | None = None
    """The prefix of the names."""
'''
FLOW = '''

def get_limit_names(request: messages.GetLimitNames, context: RequestContext) -> ActionOutcome[None]:
    """Limits without a name are left out."""
    return ActionOutcome(None)
'''
ACTION = """    Action(limit_flow.get_limit_names, "List the names of limits", effect="read"),
"""
REFUSAL = '''CURSOR_EXPIRED = RefusalRow(Fault.PARAMETER, "after is too old")
"""after is older than a day."""
'''
REFUSAL_CASE = """    _case("cursor_expired", refusals.CURSOR_EXPIRED),
"""
EVENT = '''class ConsentRenamed(TypedDict):
    """A consent has a new name."""

    alias: str
    """The name. Example: ``"Rent"``."""


'''
EVENT_ROW = """    "consent.renamed": EventDescription(model_of(tpp_events.ConsentRenamed), "A consent has a name."),
"""
CARD_EVENT = '''class AccountRenamedEvent(Answer):
    """An account has a new name."""

    account_id: Id


'''
CARD_EVENT_ROW = """    "account.renamed": EventRow(AccountRenamedEvent, "An account has a new name."),
"""


def webhook(call: str) -> dict[str, Edits]:
    return {
        f"{OPENBANKING}/v2_account_messages.py": {"": MODELS},
        f"{OPENBANKING}/v2_version.py": {"    initiations:": WEBHOOK.format(call=call)},
        "chalicelib/demo_bank/format_v2.py": {'        "funds_confirmations":': ANSWER.format(call=call)},
    }


CALLS = {f"{OPENBANKING}/webhooks.py": {"    ACCOUNT_TRANSACTIONS,\n": "    CARDS,\n", "RELAYED:": CALL}}
ACTIONS = {
    f"{CARDS}/protocol/money_messages.py": {"": REQUEST},
    f"{CARDS}/issuing/limit_flow.py": {"": FLOW},
    f"{CARDS}/actions.py": {"    Action(limit_flow.get_limits_status": ACTION},
}
REFUSALS = {
    f"{OPENBANKING}/refusals.py": {"CURSOR_INVALID =": REFUSAL},
    f"{RENDER}/refusal_cases.py": {'    _case("cursor_invalid"': REFUSAL_CASE},
    f"{RENDER}/own_calls.py": {'"cursor_invalid")': '"cursor_expired", '},
}
EVENTS = {
    f"{OPENBANKING}/tpp_calls.py": {'    "test",\n': '    "consent.renamed",\n'},
    f"{OPENBANKING}/tpp_events.py": {"class TestEvent": EVENT},
    f"{RENDER}/own_calls.py": {'    "test": EventDescription': EVENT_ROW},
}
CARD_EVENTS = {
    f"{CARDS}/protocol/card_events.py": {
        '    "three_d_secure.requested",\n]': '    "account.renamed",\n',
        '    "mandate": EventRow': CARD_EVENT_ROW,
        "EVENTS: Mapping": CARD_EVENT,
    }
}
MEMBERS = {f"{OPENBANKING}/v2_account_messages.py": {"    balance_type: A[32]\n": MEMBER}}
ADDITIONS = {
    "member": Addition("webhook field", "bank-v2", "reference_rate", MEMBERS),
    "webhook": Addition("webhook", "bank-v2", "v2_account_cards", webhook("account_payments")),
    "call": Addition("webhook", "tpp", "/tpp/account_cards", CALLS | webhook("cards")),
    "action": Addition("card action", "cards", "getLimitNames", ACTIONS),
    "error": Addition("error", "tpp", "cursor_expired", REFUSALS),
    "event": Addition("event", "tpp", "consent.renamed", EVENTS),
    "card event": Addition("event", "cards", "account.renamed", CARD_EVENTS),
}
WHOLE = {"together": [name for name in ADDITIONS if name != "call"], "call": ["call"]}
"""Sets of additions with all files. Additions are applied together unless two additions insert at the same place."""
PARTIAL = {
    f"{name} without {omitted}": (name, omitted)
    for name, addition in ADDITIONS.items()
    for omitted in addition.files
    if len(addition.files) > 1 and (name != "call" or omitted.endswith("webhooks.py"))
}
"""Additions without one of the files. A file needed by a call and by a webhook is omitted only from the webhook."""


@pytest.fixture(scope="module")
def problems(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, list[str]]:
    """Map the name of each set of additions to its problems."""
    copy = tmp_path_factory.mktemp("copy")
    for folder in ("chalicelib", "infra", "sdk"):
        shutil.copytree(ROOT / folder, copy / folder, ignore=shutil.ignore_patterns("rendered"))
    plays: dict[str, list[Addition]] = {play: [ADDITIONS[name] for name in names] for play, names in WHOLE.items()}
    plays |= {play: [ADDITIONS[name].without(omitted)] for play, (name, omitted) in PARTIAL.items()}
    command = [sys.executable, __file__, str(copy)]
    environment = {**os.environ, "PYTHONPATH": str(copy)}
    result = subprocess.run(
        command, cwd=copy, env=environment, input=json.dumps(plays), stdout=subprocess.PIPE, text=True, check=True
    )
    found: Mapping[str, list[str]] = json.loads(result.stdout)
    return found


@pytest.mark.parametrize("play", WHOLE)
def test_an_addition_to_the_apis_requires_only_the_documented_files(
    play: str, problems: Mapping[str, list[str]]
) -> None:
    assert problems[play] == []


@pytest.mark.parametrize("play", PARTIAL)
def test_an_addition_with_a_missing_file_is_reported(play: str, problems: Mapping[str, list[str]]) -> None:
    assert problems[play] != []


@pytest.mark.parametrize("name", ADDITIONS)
def test_the_contributing_guide_names_the_files_of_an_addition(name: str) -> None:
    rows = (ROOT / "CONTRIBUTING.md").read_text("utf-8").splitlines()
    (row,) = [each for each in rows if each.startswith(f"| {ADDITIONS[name].row} |")]

    for file in ADDITIONS[name].files:
        part = Path(file).name
        patterns = (part, f"v1_*_{part.rpartition('_')[2]}", f"*_{part.rpartition('_')[2]}")
        assert any(pattern in row for pattern in patterns), file


# -- the program


def _edit(copy: Path, additions: Sequence[Addition]) -> None:
    for addition in additions:
        for file, edits in addition.files.items():
            text = (copy / file).read_text("utf-8")
            for before, written in edits.items():
                place = text.index(before) if before else len(text)
                text = text[:place] + written + text[place:]
            (copy / file).write_text(text, "utf-8")


def _problems(additions: Sequence[Addition]) -> Iterator[str]:
    """Yield the problems of a copy: missing sentences, descriptions, calls, bank responses and events."""
    load: Any = importlib.import_module
    yield from load("infra.render.openapi.descriptions").missing()
    documents = load("infra.render.openapi.documents").DOCUMENTS
    rendered = {name: json.dumps(documents[name]()) for name in {each.document for each in additions}}
    yield from (f"no document has {each.name}" for each in additions if f'"{each.name}' not in rendered[each.document])
    calls = {call.name for call in load(f"{PROTOCOL}.webhooks").RELAYED}
    for number, version in load(f"{PROTOCOL}.versions").VERSIONS.items():
        answers = load(f"chalicelib.demo_bank.format_v{number}").WEBHOOKS.answers
        yield from (f"version {number}: {name}" for name in answers.keys() ^ version.relayed.keys())
        yield from (f"no call of TPPs is named {name}" for name in version.relayed.keys() - calls)
    types = get_args(load(f"{PROTOCOL}.tpp_calls").EventType)
    yield from (f"event {name}" for name in load("infra.render.openapi.own_calls").EVENTS.keys() ^ types)


def _play(copy: Path, additions: Sequence[Addition]) -> list[str]:
    """Return the problems of additions in a new process that has not loaded modules of the copy."""
    reading, writing = os.pipe()
    if os.fork() == 0:
        _edit(copy, additions)
        try:
            found = list(_problems(additions))
        except Exception as error:  # a module that cannot be loaded is a problem, too
            found = [repr(error)]
        os.write(writing, json.dumps(found[:20]).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as answer:
        problems_found: list[str] = json.loads(answer.read())
    os.wait()
    return problems_found


def _main(copy: Path) -> None:
    for library in LIBRARIES:
        importlib.import_module(library)
    found = {}
    for play, rows in json.load(sys.stdin).items():
        additions = [Addition(*row) for row in rows]
        files = {file for addition in additions for file in addition.files}
        originals = {file: (copy / file).read_bytes() for file in files}
        found[play] = _play(copy, additions)
        for file, content in originals.items():
            (copy / file).write_bytes(content)
    print(json.dumps(found))


if __name__ == "__main__":
    _main(Path(sys.argv[1]))
