"""Storage that fails, at every call of every action: the caller gets the right answer or is told to repeat the request.

Whatever happens, nothing is lost, doubled or half done. With a reference a repeat gets the right answer.
"""

from __future__ import annotations

import pytest

from tests.cards.cases import CARD_CASES, Case
from tests.cards.fault_plays import MANNERS, MONEY, Play, Targets
from tests.cards.scenes import Scene
from tests.openbanking.call_sites import CARDS, STORE, call_sites
from tests.test_structure import within
from tests.world import World

pytestmark = pytest.mark.faults

TARGETS = Targets()
_COLD = (
    "createAccount for a new holder",
    "createCard for a holder",
    "createCard on an account",
    "reissueCard with a new number",
    "createCardAcsMerchantWhitelistRule",
    "getCvc2",
    "simulateAuthentication",
)


@pytest.fixture
def scene(world: World, monkeypatch: pytest.MonkeyPatch) -> Scene:
    monkeypatch.setattr(world.hub.store, "_pause", lambda seconds: None)
    monkeypatch.setattr("chalicelib.foundation.parallel.WIDTH", 1)  # calls are made one after the other
    return Scene(world)


@pytest.mark.parametrize("manner", MANNERS)
@pytest.mark.parametrize("case", CARD_CASES, ids=str)
def test_a_fault_of_storage_loses_and_doubles_nothing(scene: Scene, case: Case, manner: str) -> None:
    TARGETS.play(f"{case} {manner}", Play(scene, case, manner), scene.world)


@pytest.mark.parametrize("manner", MANNERS)
@pytest.mark.parametrize("case", [case for case in CARD_CASES if str(case) in _COLD], ids=str)
def test_nor_does_it_in_a_process_that_has_just_started(scene: Scene, case: Case, manner: str) -> None:
    TARGETS.play(f"cold {case} {manner}", Play(scene, case, manner, cold=True), scene.world)


def test_every_call_of_the_storage_by_the_card_api_was_hit_by_every_fault() -> None:
    """Where money is moved, ``test_payment_faults`` hits them."""
    if len(TARGETS.plays) < len(MANNERS) * (len(CARD_CASES) + len(_COLD)):
        pytest.skip("not every scene was played in this run")

    missed = TARGETS.missed(site for site in call_sites(STORE, (CARDS,)) if not within(site.module, *MONEY))
    assert missed == [], "\n".join(missed)
