"""The notation of types, signatures and docstrings in the SDK reference."""

from pathlib import Path

import griffe
import pytest

from infra.render.docs.sdk_notation import Notation

NOTATION = Notation({"Account": "models.md#account", "Order": "models.md#order"}, {"Day": "datetime.date | str"})


def function(text: str) -> griffe.Function:
    module = griffe.visit("module", Path("module.py"), text)
    (found,) = module.functions.values()
    return found


@pytest.mark.parametrize(
    ("annotation", "default", "cell"),
    [
        ("str", None, "`str`"),
        ("str | None", "None", "`str`, optional"),
        ("str | None", None, "`str` or `None`"),
        ("Account | Order", None, "[`Account`](models.md#account) or [`Order`](models.md#order)"),
        ("tuple[Account, ...]", "()", "[`tuple[Account, ...]`](models.md#account), default `()`"),
        ("dict[str, int | str]", None, "`dict[str, int \\| str]`"),
        ("Literal['a', 2]", None, '`"a"` or `2`'),
        ("Literal['a']", "'a'", '`"a"`'),
        ("Literal[1, 2, 3, 4, 5, 6, 7]", None, "`Literal[1, 2, 3, 4, 5, 6, 7]`"),
        ("Mapping[str, Any]", "dict", "`Mapping[str, Any]`, default `{}`"),
        ("Day", None, "`date` or `str`"),
        (
            "list[Account | Day] | Literal['Day']",
            None,
            '[`list[Account \\| date \\| str]`](models.md#account) or `"Day"`',
        ),
    ],
)
def test_a_table_cell_shows_the_type_and_default_of_an_annotation(
    annotation: str, default: str | None, cell: str
) -> None:
    assert NOTATION.cell(annotation, default) == cell


def test_a_short_signature_is_one_line() -> None:
    source = "def pay(self, order: Order, *, key: str = 'k', **more: int) -> Account: ..."

    assert NOTATION.signature("x.pay", function(source)) == (
        'x.pay(order: Order, *, key: str = "k", **more: int) -> Account'
    )


def test_a_long_signature_has_one_line_per_parameter_and_expands_aliases() -> None:
    source = (
        "def pay(self, order: Order, first_day: Day, *, last_day: Day | None = None, other: int = 3) -> Account: ..."
    )

    assert NOTATION.signature("x.pay", function(source)).splitlines() == [
        "x.pay(",
        "    order: Order,",
        "    first_day: date | str,",
        "    *,",
        "    last_day: date | str | None = None,",
        "    other: int = 3,",
        ") -> Account",
    ]


def test_a_signature_omits_long_constant_defaults() -> None:
    assert NOTATION.signature("f", function("def f(text: str = pages.TEMPLATE) -> None: ...")) == (
        "f(text: str = ...) -> None"
    )


def test_a_signature_links_each_type_once_in_order() -> None:
    source = "def f(self, a: Order | str, *, b: list[Account]) -> Order: ..."

    assert NOTATION.links_of_signature(function(source)) == "[`Order`](models.md#order), [`Account`](models.md#account)"


def test_a_docstring_becomes_paragraphs_with_links() -> None:
    text = "Pay an ``Order``\nfrom ``Account``.\n\nRaises ``Nothing``."

    assert list(NOTATION.prose(text, {"Order"})) == [
        "Pay an `Order` from [`Account`](models.md#account).",
        "Raises `Nothing`.",
    ]


def test_documented_arguments_are_rendered_as_a_table() -> None:
    text = "Take it.\n\nArgs:\n    one: the first,\n        an ``Order``.\n    two: a | b."

    assert list(NOTATION.prose(text)) == [
        "Take it.",
        (
            "| Parameter | Meaning |\n| --- | --- |\n"
            "| `one` | The first, an [`Order`](models.md#order) |\n| `two` | A \\| b |"
        ),
    ]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("Pay. Then wait.", "Pay"),
        ("One page: ``limit`` is 100.\n\nMore.", "One page"),
        ("Of version 1.5, paid.", "Of version 1.5, paid"),
    ],
)
def test_the_first_sentence_function_returns_the_first_sentence_of_a_docstring(text: str, sentence: str) -> None:
    assert NOTATION.first_sentence(text) == sentence
