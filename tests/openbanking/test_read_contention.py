"""Tests of parallel unattended reads in several processes: exactly the permitted number of reads reaches the bank."""

from collections import Counter
from collections.abc import Mapping
from functools import partial
from typing import Any

import pytest

from chalicelib.foundation.dynamodb.store import StoreError
from chalicelib.foundation.http.web import Incoming
from chalicelib.openbanking.flows.reads.relay import relay
from chalicelib.openbanking.oauth.tpp_request import TppCredentials
from chalicelib.openbanking.protocol.errors import Fault, Refusal
from chalicelib.openbanking.protocol.webhooks import RELAYED
from tests.cards.contest import MANY, PROCESSES, at_once
from tests.causeway import Causeway
from tests.openbanking.accounts import LIMIT, Aisp, limit_reads
from tests.openbanking.fault_scenarios import InMemory
from tests.openbanking.kit import IBAN

pytestmark = [pytest.mark.dynamodb, pytest.mark.faults]

CALLS = {call.name: call for call in RELAYED}
ATTENDED = {"psu-ip-address": "192.0.2.7"}
AT_ONCE: Mapping[str, str] = {}
LATER = {"prefer": "respond-async"}


class Contest:
    def __init__(self, causeway: Causeway, call: str, query: Mapping[str, str]) -> None:
        self.causeway, self.call, self.query = causeway, CALLS[call], query
        limit_reads(causeway, 1)
        self.aisp = Aisp(causeway, 1)
        self.hubs = [causeway.another_process() for _ in range(PROCESSES)]
        for hub in self.hubs:
            hub.__dict__["outbound"] = causeway.hub.outbound
            InMemory.install(hub.delivery)
            hub.openbanking.__dict__["banks"] = causeway.hub.openbanking.banks

    def run(self, *ways: Mapping[str, str]) -> Counter[str]:
        """Read in parallel with alternating headers. Return the number of responses by result."""
        made = [partial(self._made, number, ways[number % len(ways)]) for number in range(MANY)]
        return Counter(at_once(made))

    def _made(self, number: int, headers: Mapping[str, str]) -> str:
        hub = self.hubs[number % PROCESSES].openbanking
        credentials = TppCredentials(self.causeway.tpp.client_id, bearer=self.aisp.bearer)
        request = Incoming("GET", self.call.path, headers, tuple(self.query.items()), b"", {}, {})
        try:
            return type(hub.call(relay, self.call, credentials, request)).__name__
        except Refusal as refusal:
            return refusal.fault.name
        except StoreError as error:
            return type(error).__name__


ONE, TWO = {"iban": IBAN}, {"iban": IBAN, "account_id": "77"}
EXCEEDED = Fault.ACCESS_EXCEEDED.name


@pytest.mark.parametrize("query", [ONE, TWO], ids=["one name", "two names"])
def test_exactly_four_of_50_parallel_reads_reach_the_bank(causeway: Causeway, query: dict[str, Any]) -> None:
    contest = Contest(causeway, "account", query)

    found = contest.run(AT_ONCE)

    assert found == {"BankAnswer": LIMIT, EXCEEDED: MANY - LIMIT}
    assert contest.aisp.calls == LIMIT
    assert contest.aisp.counted() == LIMIT * len(query)


def test_exactly_four_of_50_parallel_deferred_reads_are_accepted(causeway: Causeway) -> None:
    contest = Contest(causeway, "account", ONE)

    found = contest.run(LATER)

    assert found == {"DeferredRequest": LIMIT, EXCEEDED: MANY - LIMIT}
    assert contest.aisp.counted() == len(causeway.recorded("relay")) == LIMIT


def test_direct_and_deferred_reads_share_the_limit_of_four(causeway: Causeway) -> None:
    contest = Contest(causeway, "accounts", {})

    found = contest.run(AT_ONCE, LATER)

    assert found["BankAnswer"] + found["DeferredRequest"] == LIMIT
    assert found[EXCEEDED] == MANY - LIMIT
    assert contest.aisp.counted() == LIMIT


def test_50_parallel_attended_reads_all_reach_the_bank(causeway: Causeway) -> None:
    contest = Contest(causeway, "account", ONE)

    assert contest.run(ATTENDED) == {"BankAnswer": MANY}
    assert contest.aisp.items() == []
