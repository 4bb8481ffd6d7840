"""Scenes of unattended reads at a bank that limits them, while the storage fails.

A read that the bank got is counted once, and none that it did not get, unless nobody can find out.
"""

from __future__ import annotations

from typing import Any

from chalicelib.foundation.http.outbound import NotReached
from tests.causeway import Causeway
from tests.openbanking.faults import Fault
from tests.openbanking.kit import IBAN
from tests.openbanking.payment_scenes import scene
from tests.openbanking.scenes import LATER, Run, completed, never_says, records, refused
from tests.openbanking.unattended import LIMIT, Reader, limit_reads

QUERIES: dict[str, dict[str, Any]] = {"one name": {"iban": IBAN}, "two names": {"iban": IBAN, "account_id": "77"}}


def reader_of(causeway: Causeway) -> Reader:
    limit_reads(causeway, 1)
    return Reader(causeway, 1)


@scene(*QUERIES)
def read_an_account_without_its_psu_by(causeway: Causeway, names: str) -> Run:
    reader, query = reader_of(causeway), QUERIES[names]
    reader.use_up("account", LIMIT - 1, **query)
    before = reader.counted()

    def run(fault: Fault) -> None:
        reader.side.received.clear()
        completed(fault, lambda: reader.read("account", **query))
        assert reader.calls == 1
        assert reader.counted() == before + len(query)
        assert reader.read("account", **query).status == 429

    return run


@scene()
def read_an_account_once_too_often(causeway: Causeway) -> Run:
    reader = reader_of(causeway)
    reader.use_up()

    def run(fault: Fault) -> None:
        reader.side.received.clear()
        completed(fault, reader.read, 429)
        assert (reader.counted(), reader.calls) == (LIMIT, 0)

    return run


@scene()
def read_an_account_while_the_storage_does_not_say_that_it_has_counted(causeway: Causeway) -> Run:
    reader = reader_of(causeway)

    def run(fault: Fault) -> None:
        reader.side.received.clear()
        with Fault(causeway, "after", 1, lasting=True, operation="UpdateItem"), fault:
            answer = reader.read()
        if refused(answer):
            assert reader.calls == 0
            answer = reader.read()
        assert answer.status == 200
        assert (reader.counted(), reader.calls) == (1, 1)

    return run


@scene()
def read_an_account_at_a_bank_that_is_never_reached(causeway: Causeway) -> Run:
    reader = reader_of(causeway)
    reader.bank_gives("/accounts", NotReached("no connection"))

    def run(fault: Fault) -> None:
        causeway.hub.openbanking.bank_client.breaker.record_success(reader.side.bic)
        completed(fault, reader.read, 502)
        assert reader.counted() == 0 or (fault.lasting and reader.counted() == 1)

    return run


@scene()
def have_a_read_without_the_psu_accepted(causeway: Causeway) -> Run:
    reader = reader_of(causeway)
    reader.use_up(times=LIMIT - 2)

    def run(fault: Fault) -> None:
        completed(fault, lambda: reader.read(headers=LATER), 202)
        accepted = len(records(causeway, "relay"))
        assert accepted == 1 or (accepted == 2 and fault.loses_what_was_applied())
        assert reader.counted() == LIMIT - 2 + accepted

    return run


@scene()
def have_a_read_accepted_while_the_storage_never_says_that_it_has_written(causeway: Causeway) -> Run:
    reader = reader_of(causeway)

    def run(fault: Fault) -> None:
        if fault.lasting:
            return  # nobody can find out then
        with never_says(causeway), fault:
            answer = reader.read(headers=LATER)
        if refused(answer):
            assert reader.counted() == len(records(causeway, "relay")) == 0
            answer = reader.read(headers=LATER)
        assert answer.status == 202
        assert reader.counted() == len(records(causeway, "relay")) == 1

    return run
