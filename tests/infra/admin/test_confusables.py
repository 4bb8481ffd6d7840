"""Titles that look alike have the same skeleton (comparison form). Distinguishable titles have different skeletons."""

import pytest

from infra.admin.confusables import skeleton


@pytest.mark.parametrize(
    "other",
    [
        "budget friend",
        "Budget-Friend!",
        "BudgetFriend",
        "Bu\u0501get Fr\u0456end",
        "\u0412UDG\u0415T FRI\u0415ND",
        "\u0392udget Friend",
        "Büdget Friénd",
        "Budget Fr1end",
        "Budget Fr|end",
        "\uff22udget \uff26riend",
        "\U0001d401udget \U0001d46driend",
        "Bud\u200dget Friend",
        "Budget Friend \u2764",
    ],
    ids=ascii,
)
def test_titles_that_look_alike_have_the_same_skeleton(other: str) -> None:
    assert skeleton(other) == skeleton("Budget Friend")


def test_a_letter_pair_that_looks_like_one_letter_has_the_skeleton_of_that_letter() -> None:
    assert skeleton("Modern vvallet") == skeleton("Modem Wallet")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Budget Friend", "Budget Friends"),
        ("\u2764", "\u2600"),
        ("银行", "很行"),
        ("Bank 1", "Bank 2"),
        ("\u0411\u0430\u043d\u043a", "\u0411\u0430\u043d\u0430\u043d"),
    ],
)
def test_clearly_different_titles_have_different_skeletons(one: str, other: str) -> None:
    assert skeleton(one) != skeleton(other)
