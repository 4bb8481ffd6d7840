"""Generated tables in documents that are otherwise written by hand."""

import re

import pytest

from infra.render.docs import inserted_tables
from infra.render.docs.inserted_tables import TABLES, with_tables, without_tables
from tests.kit.documents import DOCUMENTS, tables

DOCUMENT = "Before.\n\n<!-- table: error codes -->\n| old |\n<!-- end of table -->\n\nAfter.\n"


def test_the_tables_of_all_documents_are_up_to_date() -> None:
    assert inserted_tables.update(check=True) == [], "make docs"


def test_every_table_is_in_one_document() -> None:
    found = re.findall(r"^<!-- table: (.+) -->$", "\n".join(DOCUMENTS.values()), re.MULTILINE)

    assert sorted(found) == sorted(TABLES)


def test_a_table_is_replaced_between_its_comments() -> None:
    text = with_tables(DOCUMENT)

    assert text.startswith("Before.\n\n<!-- table: error codes -->\n| Cause |")
    assert text.endswith(" |\n<!-- end of table -->\n\nAfter.\n")
    assert with_tables(text) == text


def test_words_of_tables_are_not_written_by_hand() -> None:
    assert without_tables(DOCUMENT).split() == ["Before.", "After."]


def test_a_table_without_a_generator_is_reported() -> None:
    with pytest.raises(KeyError, match="colours"):
        with_tables(DOCUMENT.replace("error codes", "colours"))


@pytest.mark.parametrize("name", TABLES)
def test_the_lines_of_a_table_have_the_cells_of_its_head(name: str) -> None:
    (found,) = tables(TABLES[name]())

    assert {len(line) for line in found} == {len(found[0])}
