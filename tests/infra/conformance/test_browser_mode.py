"""In the mode ``browser``, a simulated person follows the printed instructions."""

import threading
from io import StringIO

import pytest

from chalicelib.openbanking.protocol.version import Version
from chalicelib.openbanking.protocol.versions import VERSIONS
from infra.conformance import kit
from infra.conformance.checks import checks_of
from infra.conformance.psu import Action, Task
from infra.conformance.selection import select
from tests.infra.conformance.kit_runs import HUB_KEY, LIMITS, InstantPsu, file_of, running
from tests.infra.conformance.small_bank import SmallBank

CHOSEN = "consent,cancel,payment-single.confirmed-returned,payment-single.refused-returned,end-at-bank"
ACTIONS: dict[str, tuple[Action, str]] = {
    "approve the access": ("consent", "approve"),
    "refuse the access": ("consent", "refuse"),
    "confirm the payment": ("payment", "confirm"),
    "refuse the payment": ("payment", "refuse"),
}


class Person(StringIO):
    def __init__(self, bank: SmallBank) -> None:
        super().__init__()
        self._hands = InstantPsu(bank)
        self.done: list[str] = []

    def write(self, text: str) -> int:
        if "End the access" in text:
            self._start(Task("revoke", "", "", bool))
        for sentence, (action, decision) in ACTIONS.items():
            if sentence in text:
                self._start(Task(action, text.rsplit(maxsplit=1)[-1], decision, bool))
        return super().write(text)

    def _start(self, task: Task) -> None:
        self.done.append(task.name)
        threading.Thread(target=self._hands.act, args=(task,)).start()


@pytest.mark.parametrize("version", VERSIONS.values(), ids=str)
def test_a_person_who_follows_the_printed_instructions_completes_the_conformance_run(version: Version) -> None:
    with running(SmallBank(version)) as bank:
        described = file_of(bank)
        bank.hub = described.public_url
        person = Person(bank)
        with kit.open_session(described, HUB_KEY, person, limits=LIMITS) as session:
            run = kit.run(session, select(checks_of(version), CHOSEN), lambda _: None)

    assert [(each.check.check_id, each.problem) for each in run.results if each.outcome != "passed"] == []
    assert sorted(person.done) == [
        *["consent approve"] * 2,
        *("consent refuse", "payment confirm", "payment refuse", "revoke"),
    ]
