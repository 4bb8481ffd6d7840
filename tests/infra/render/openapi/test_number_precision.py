"""Documents say which digits of JSON numbers a parser may lose, and what to do, wherever they describe amounts."""

from __future__ import annotations

import json
import re
from decimal import Decimal

import pytest

from infra.render.docs.types import TYPE_NOTES
from infra.render.openapi.cards import notation
from infra.render.openapi.documents import DOCUMENTS as MADE
from infra.render.openapi.documents import load
from infra.render.openapi.introduction import NUMBERS
from tests.documents import CARD_REQUESTS, DOCUMENTS, REQUESTS, section


@pytest.mark.parametrize("name", MADE)
def test_the_introduction_of_every_document_says_how_to_read_numbers_without_loss(name: str) -> None:
    assert " ".join(NUMBERS.split()) in " ".join(load(name)["info"]["description"].split())


def test_the_types_of_the_references_that_may_be_numbers_refer_to_the_loss() -> None:
    meanings = {note.notation: note.meaning for note in TYPE_NOTES}

    for name in ("amount {0}", "number {0}"):
        assert "(../concepts/requests.md#amounts)" in meanings[name]
    assert "(../concepts/card-requests.md#numbers)" in notation.TYPES["N 1-20"]


def test_the_pages_for_tpps_and_programme_managers_have_the_remedy() -> None:
    for text in (section(REQUESTS, "### Amounts"), section(CARD_REQUESTS, "### Numbers")):
        assert "2^53" in text
        assert "JSON.parse" in text
    assert "requests.md#amounts" in DOCUMENTS["docs/guides/tpp.md"]


def test_the_python_of_the_remedy_keeps_every_digit() -> None:
    (code,) = re.findall(r"`json\.loads\(text, (.*?)\)`", section(REQUESTS, "### Amounts"))

    assert code == "parse_float=Decimal"
    assert str(json.loads("9733.70", parse_float=Decimal)) == "9733.70"
