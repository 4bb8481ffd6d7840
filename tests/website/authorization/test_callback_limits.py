"""The payment page limits its status requests to a bank."""

import ipaddress
from typing import Any

import pytest

from chalicelib.openbanking.records.callback_limits import ASKED_SECONDS, BETWEEN_SECONDS, PER_ADDRESS
from tests.causeway import Answer, Causeway
from tests.openbanking.faults import items
from tests.openbanking.payments import Pisp

ASKED, REPORTED = "The bank says", "The bank reported"


class Visitors:
    def __init__(self, causeway: Causeway, kind: str = "single") -> None:
        self.causeway = causeway
        self.pisp = Pisp(causeway, 2, kind)
        self.pisp.bank.answers["/v2_payment_single_status"] = lambda sent: {"transaction_status": "ACSC"}

    def pays(self, count: int = 1) -> None:
        for _ in range(count):
            assert self.pisp.pay().status == 200
        self.pisp.bank.received.clear()

    def open(self, payment_id: str = "P-1", address: str = "203.0.113.7") -> str:
        """Open the payment page. Return the text that states the source of the payment status."""
        path = f"/payments/callback?bic=BETADEF1&payment_id={payment_id}&status=4"
        answer: Answer = self.causeway.call("GET", path, identity={"sourceIp": address})
        assert answer.status == 200
        (said,) = [words for words in (ASKED, REPORTED) if words in answer.text]
        assert ("ACSC" in answer.text) == (said == ASKED)
        assert ("RCVD" in answer.text) == (said == REPORTED)
        return said

    @property
    def asked(self) -> int:
        return len(self.pisp.bank.received)


@pytest.mark.parametrize("kind", ["single", "direct"])
def test_a_payment_status_is_requested_from_the_bank_once_per_ten_seconds(causeway: Causeway, kind: str) -> None:
    visitors = Visitors(causeway, kind)
    visitors.pays()

    said = [visitors.open(address=f"203.0.113.{number}") for number in range(5)]
    causeway.clock.advance(BETWEEN_SECONDS - 1)
    said.append(visitors.open())
    causeway.clock.advance(1)
    said.append(visitors.open())

    assert said == [ASKED, *[REPORTED] * 5, ASKED]
    assert visitors.asked == 2


def test_the_interval_between_status_requests_applies_per_payment(causeway: Causeway) -> None:
    visitors = Visitors(causeway)
    visitors.pays(2)

    assert [visitors.open("P-1"), visitors.open("P-2")] == [ASKED] * 2


def test_a_payment_status_is_requested_from_the_bank_for_one_day(causeway: Causeway) -> None:
    visitors = Visitors(causeway)
    visitors.pays()
    causeway.clock.advance(ASKED_SECONDS - 1)
    assert visitors.open() == ASKED
    causeway.clock.advance(BETWEEN_SECONDS)

    assert visitors.open() == REPORTED
    assert visitors.asked == 1


def test_one_ip_address_triggers_at_most_30_status_requests_per_hour(causeway: Causeway) -> None:
    visitors = Visitors(causeway)
    visitors.pays(PER_ADDRESS + 1)
    names = [f"P-{number + 1}" for number in range(PER_ADDRESS + 1)]

    assert [visitors.open(name) for name in names] == [ASKED] * PER_ADDRESS + [REPORTED]
    assert visitors.asked == PER_ADDRESS
    assert visitors.open(names[-1], "203.0.113.8") == ASKED
    causeway.clock.advance(3600)
    assert visitors.open() == ASKED


def test_page_views_that_cause_no_status_request_are_not_counted_against_the_limits(causeway: Causeway) -> None:
    visitors = Visitors(causeway)
    visitors.pays(2)
    for _ in range(2 * PER_ADDRESS):
        visitors.open("P-1")

    assert visitors.asked == 1
    assert visitors.open("P-2") == ASKED


def test_addresses_of_one_ipv6_network_share_one_limit(causeway: Causeway) -> None:
    visitors = Visitors(causeway)
    visitors.pays(PER_ADDRESS + 1)
    first = ipaddress.IPv6Address("2001:db8::")

    said = [visitors.open(f"P-{number + 1}", str(first + number)) for number in range(PER_ADDRESS + 1)]

    assert said == [ASKED] * PER_ADDRESS + [REPORTED]


def test_two_simultaneous_visitors_cause_one_status_request(causeway: Causeway) -> None:
    visitors = Visitors(causeway)
    visitors.pays()
    inner: list[str] = []

    with causeway.meanwhile("transact", lambda: inner.append(visitors.open(address="203.0.113.8"))):
        outer = visitors.open()

    assert inner == [ASKED]
    assert outer == REPORTED
    assert visitors.asked == 1


def test_status_request_records_contain_no_ip_address_and_accept_bank_reports(causeway: Causeway) -> None:
    visitors = Visitors(causeway)
    visitors.pays()
    visitors.open()

    assert visitors.pisp.report("ACSC").status == 200
    kept: list[dict[str, Any]] = items(causeway, "payments")
    assert "203.0.113.7" not in repr(kept)
    (counter,) = [item for item in kept if item["payment"].startswith("asked#")]
    assert counter["expires_at"] > causeway.clock.time()
    (payment,) = [item for item in kept if "payment_id" in item]
    assert (payment["status"], "expires_at" in payment) == ("ACSC", False)
