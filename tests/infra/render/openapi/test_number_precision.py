"""Documents that describe amounts explain how to parse JSON numbers without losing digits."""

import json
import re
from decimal import Decimal

import pytest

from infra.render.docs.types import TYPE_NOTES
from infra.render.openapi.cards import notation
from infra.render.openapi.documents import DOCUMENTS as MADE
from infra.render.openapi.documents import load
from infra.render.openapi.introduction import NUMBERS
from tests.kit.documents import CARD_REQUESTS, DOCUMENTS, REQUESTS, section


@pytest.mark.parametrize("name", MADE)
def test_the_introduction_of_every_document_explains_number_precision(name: str) -> None:
    assert " ".join(NUMBERS.split()) in " ".join(load(name)["info"]["description"].split())


def test_types_of_amounts_link_to_the_section_on_number_precision() -> None:
    meanings = {note.notation: note.meaning for note in TYPE_NOTES}

    for name in ("amount {0}", "number {0}"):
        assert "(../concepts/requests.md#amounts)" in meanings[name]
    assert "(../concepts/card-requests.md#numbers)" in notation.TYPES["N 1-20"]


def test_docs_explain_number_precision_for_tpps_and_programme_managers() -> None:
    for text in (section(REQUESTS, "### Amounts"), section(CARD_REQUESTS, "### Numbers")):
        assert "2^53" in text
        assert "JSON.parse" in text
    assert "requests.md#amounts" in DOCUMENTS["docs/guides/tpp.md"]


def test_the_documented_python_parser_parses_amounts_without_loss_of_digits() -> None:
    (code,) = re.findall(r"`json\.loads\(text, (.*?)\)`", section(REQUESTS, "### Amounts"))

    assert code == "parse_float=Decimal"
    assert str(json.loads("9733.70", parse_float=Decimal)) == "9733.70"
