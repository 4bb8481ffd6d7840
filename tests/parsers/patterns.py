"""The regular expressions that read what strangers send."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from types import ModuleType

from chalicelib.cards.protocol import fields, rules
from chalicelib.cards.requests import envelope
from chalicelib.delivery import client_events, recorded_exchange
from chalicelib.foundation import durations, identifiers, jsontext
from chalicelib.foundation.fields import field_rules, field_types
from chalicelib.foundation.http import addresses
from chalicelib.openbanking.protocol import bank_calls, british_accounts, tpp_calls
from chalicelib.openbanking.records import client_list, client_security, svg_logos, svg_scales, svg_styles
from chalicelib.statistics import days
from chalicelib.website.cards import card_text
from tests.parsers.linear_patterns import Repeat, find_repeats_to_mend, patterns_in

MODULES: tuple[ModuleType, ...] = (
    *(svg_logos, svg_scales, svg_styles),
    *(addresses, durations, identifiers, jsontext, field_rules, field_types),
    *(client_events, recorded_exchange, days, card_text, envelope, fields, rules),
    *(bank_calls, british_accounts, tpp_calls, client_list, client_security),
)
LINEAR_EXCEPTIONS: Mapping[str, str] = {
    "svg_styles.NUMBER": "each run of digits is a number, so that no search fails after one",
    "svg_scales._USUAL_NUMBER": "it fails only before digits of an exponent, and then matches without the exponent",
    "svg_styles._TOKEN": "a comment that is not closed ends with the text, so that no search fails after one",
    "addresses._ENDS_IN_A_NUMBER": "compared with a whole host name; the digits between two dots are tried once",
    "fields._EMAIL": "compared with a whole text; each label of a domain ends with a dot",
}
"""Patterns that the rules refuse, and why they take linear work."""
PATTERNS: Mapping[str, re.Pattern[str]] = {
    f"{module.__name__.rpartition('.')[2]}.{name}": pattern
    for module in MODULES
    for name, pattern in patterns_in(vars(module)).items()
}
_SOURCES = "".join(map(inspect.getsource, MODULES))


def find_repeats(name: str) -> list[Repeat]:
    """The repeats of a pattern that take more than linear work."""
    return find_repeats_to_mend(PATTERNS[name], is_searched=_is_searched(name))


def _is_searched(name: str) -> bool:
    """Whether a pattern is searched in texts, and not compared with the whole of them."""
    return bool(re.search(rf"\b{name.rpartition('.')[2]}\.(?:search|sub|split|findall|finditer)\(", _SOURCES))
