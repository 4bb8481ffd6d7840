"""The forms on a card's page depend on the state of the card and on its groups."""

import pytest

from chalicelib.website.cards.card_actions import offered_actions

GROUPS = {
    "fee_group": "fees_group_id",
    "limit_group": "limits_group_id",
    "usage_group": "usages_group_id",
    "risk_group": "risk_group_id",
}
"""The kinds of groups, and the member of a card that is the id of its group."""


@pytest.mark.parametrize(
    ("allowed", "is_offered"),
    [
        pytest.param([7], False, id="no other group"),
        pytest.param([], False, id="no group"),
        pytest.param([7, 8], True, id="another group"),
        pytest.param([8], True, id="the card's group is no longer allowed"),
    ],
)
@pytest.mark.parametrize("kind", GROUPS)
def test_a_group_form_is_offered_if_the_card_can_be_moved(kind: str, allowed: list[int], is_offered: bool) -> None:
    card = {"status": "A", "pin_status": 0, **dict.fromkeys(GROUPS.values(), 7)}
    groups = {each: {"7": "Everything"} for each in GROUPS} | {kind: {str(number): "Group" for number in allowed}}

    offered = [each.kind for each in offered_actions({"card": card, "groups": groups}) if each.kind]

    assert offered == ([kind] if is_offered else [])
