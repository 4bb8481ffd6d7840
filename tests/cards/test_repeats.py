"""Tests of retries after a change of the set-up: the stored response takes precedence over new errors."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import pytest

from tests.cards import programmes
from tests.cards.cases import of_new_card
from tests.cards.issuer import GERMANY, HOLDER_BLOCK, Issuer

NARROWER: Mapping[str, Mapping[str, Any]] = {
    "kinds": {"virtual": False},
    "designs": {"design_ids": [2]},
    "countries": {"countries": [826]},
    "validity": {"max_validity_months": 36},
    "conversion": {"auto_conversion": False},
}


@pytest.mark.parametrize("narrower", NARROWER.values(), ids=NARROWER)
def test_a_retry_of_a_card_creation_returns_the_first_response_in_a_stricter_programme(
    new_issuer: Issuer, narrower: Mapping[str, Any]
) -> None:
    programme = {"design_ids": [1, 2], "auto_conversion": True}
    manager = programmes.manager(
        card_programmes=[programmes.card_programme(**programme)],
        credentials=[programmes.credential("app", modes=programmes.PLAIN, allow_plain=True)],
    )
    (plan,) = programmes.loaded(new_issuer.hub, manager)
    new_issuer.secrets["app"] = asdict(plan.secrets["app"])
    members = of_new_card(card_program_id=1, card_design_id=1, card_validity_period=48, auto_conversion=1)
    members |= {
        "card_country_ison": GERMANY,
        "holder_limit_group_id": 3,
        "request_reference_id": new_issuer.reference(),
    }
    members |= HOLDER_BLOCK
    first = new_issuer.as_caller("app").do("createCard", **members)
    programmes.loaded(
        new_issuer.hub, manager | {"card_programmes": [programmes.card_programme(**{**programme, **narrower})]}
    )

    later = new_issuer.with_own_clock(days=1 / 24).as_caller("app")
    repeat, another = (
        later.do("createCard", **members),
        later.do("createCard", **members | {"request_reference_id": new_issuer.reference()}),
    )

    assert first.status == "success"
    assert repeat.duplicated == 1
    assert repeat.data == first.data
    assert another.status_code == 2005
