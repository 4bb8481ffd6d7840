"""Probes of banks with a downtime: all instances together send one probe per 30 s, also after lost responses or
clock changes.
"""

from collections.abc import Callable
from functools import partial

import pytest

from chalicelib.foundation.dynamodb.store import StoreError
from chalicelib.statistics.downtimes import PROBE_SECONDS, Probe, claim_probe, record_answer
from tests.causeway import Causeway
from tests.kit.storage import record_calls
from tests.statistics.bank_days import ALPHA, BETA

Claim = Callable[[str], tuple[Probe, bool]]


@pytest.fixture
def claim(causeway: Causeway) -> Claim:
    return partial(claim_probe, causeway.hub.store, causeway.clock)


def test_all_instances_together_send_one_probe_in_30_seconds(causeway: Causeway, claim: Claim) -> None:
    first, is_own = claim(ALPHA)
    assert is_own

    causeway.clock.advance(PROBE_SECONDS - 1)
    assert claim_probe(causeway.hub.store, causeway.clock, ALPHA) == (first, False)
    assert first.pause_at(causeway.clock.time()) == 1
    causeway.clock.advance(1)
    assert claim(ALPHA)[1]


def test_probes_are_sent_separately_for_each_bank(claim: Claim) -> None:
    assert [claim(bic)[1] for bic in (ALPHA, BETA)] == [True, True]


def test_only_one_of_two_parallel_instances_sends_the_probe(causeway: Causeway, claim: Claim) -> None:
    others: list[bool] = []
    with causeway.meanwhile("put", lambda: others.append(claim(ALPHA)[1])):
        is_own = claim(ALPHA)[1]

    assert (others, is_own) == ([True], False)


def test_a_probe_claim_whose_storage_response_was_lost_is_valid_for_30_seconds(
    causeway: Causeway, claim: Claim
) -> None:
    with causeway.answer_lost("put", applied=True), pytest.raises(StoreError):
        claim(ALPHA)

    assert not claim(ALPHA)[1]
    causeway.clock.advance(PROBE_SECONDS)
    assert claim(ALPHA)[1]


def test_an_answered_probe_is_visible_to_other_instances(causeway: Causeway, claim: Claim) -> None:
    probe, _ = claim(ALPHA)
    record_answer(causeway.hub.store, probe)

    stored, is_own = claim_probe(causeway.hub.store, causeway.clock, ALPHA)

    assert (stored.probe_id, stored.answered, is_own) == (probe.probe_id, True, False)


def test_a_late_probe_response_does_not_replace_a_newer_probe(causeway: Causeway, claim: Claim) -> None:
    old, _ = claim(ALPHA)
    causeway.clock.advance(PROBE_SECONDS)
    new, _ = claim(ALPHA)

    record_answer(causeway.hub.store, old)

    assert claim(ALPHA) == (new, False)


def test_a_probe_recorded_by_a_fast_clock_does_not_pause_a_bank(causeway: Causeway, claim: Claim) -> None:
    causeway.clock.advance(3600)
    claim(ALPHA)
    causeway.clock.advance(-3600)

    assert claim(ALPHA)[1]


def test_a_probe_claim_makes_one_storage_write(causeway: Causeway, claim: Claim) -> None:
    with record_calls(causeway) as calls:
        claim(ALPHA)

    assert calls == ["PutItem"]
