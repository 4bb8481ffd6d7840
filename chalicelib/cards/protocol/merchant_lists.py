"""The lists of a merchant whitelist rule, each a string with commas but the last (specification, Card operations)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

from chalicelib.cards.protocol.list_rules import SeriesRule, TextsRule
from chalicelib.foundation.fields.field_rules import UNPRINTABLE
from chalicelib.foundation.fields.registries import country_numbers

LIST_CHARACTERS = 65536
"""So long may each list be."""

_PAIR = rf"[0-9]{{4,11}}\+[^,{UNPRINTABLE}]{{1,15}}"
_MCC = "[0-9]{4}"
_COUNTRY = "[0-9]{1,3}"


def _matching(pattern: str) -> Callable[[str], str | None]:
    compiled = re.compile(pattern)
    return lambda text: text if compiled.fullmatch(text) else None


def _country(text: str) -> str | None:
    """A country's code with its leading zeros."""
    return f"{int(text):03}" if re.fullmatch(_COUNTRY, text) and int(text) in country_numbers() else None


def _series(form: Callable[[str], str | None], pattern: str, reason: str, example: str) -> Any:
    whole = f"^ *{pattern} *(, *{pattern} *)*$"
    return Annotated[Any, SeriesRule(LIST_CHARACTERS, form, f"{reason}, with commas between them", whole, example)]


if TYPE_CHECKING:
    Pairs = tuple[str, ...]
    Mccs = tuple[str, ...]
    Countries = tuple[str, ...]
    Merchants = tuple[str, ...]
else:
    Pairs = _series(
        _matching(_PAIR),
        _PAIR,
        "pairs of acquirer BIN and merchant id, joined by +",
        "400012+SHOP0001,400012+SHOP0002",
    )
    Mccs = _series(_matching(_MCC), _MCC, "merchant category codes of exactly 4 digits", "5411,5812")
    Countries = _series(_country, _COUNTRY, "numeric country codes of ISO 3166-1", "276,826")
    Merchants = Annotated[Any, TextsRule(LIST_CHARACTERS)]
