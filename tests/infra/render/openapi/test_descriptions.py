"""The check that finds elements without docstrings, and the docstrings of table rows."""

from types import ModuleType

import pytest

from chalicelib.openbanking.protocol import bank_calls, refusals, v1_version, v2_version, webhooks
from chalicelib.openbanking.unified import calls
from infra.render.openapi import row_docs
from infra.render.openapi.descriptions import missing

ROW_MODULES = [each.__name__ for each in (bank_calls, calls, refusals, v1_version, v2_version, webhooks)]


def test_all_documented_elements_have_a_docstring() -> None:
    assert list(missing()) == []


@pytest.mark.parametrize(
    ("module", "name"),
    [
        (refusals, "STATE_USED"),
        (webhooks, "ACCOUNTS"),
        (calls, "UNIFIED_ACCOUNTS"),
        (webhooks, "STATUS_PATH"),
        (v1_version, "/account_payments"),
    ],
    ids=["refusal", "call of a TPP", "unified call", "payment status", "webhook"],
)
def test_a_table_row_without_a_docstring_is_reported(
    monkeypatch: pytest.MonkeyPatch, module: ModuleType, name: str
) -> None:
    docs = {each: {**row_docs.row_docs(each)} for each in ROW_MODULES}
    del docs[module.__name__][name]
    monkeypatch.setattr(row_docs, "row_docs", docs.__getitem__)

    assert list(missing()) == [f"{name} has no docstring: add it below its row in {module.__name__}"]


def test_table_rows_with_the_same_text_have_separate_docstrings() -> None:
    assert refusals.PROOF_WRONG.sentence == refusals.PROOF_WRONG_FOR_TOKEN.sentence
    assert row_docs.text("PROOF_WRONG", refusals.__name__) != row_docs.text("PROOF_WRONG_FOR_TOKEN", refusals.__name__)
