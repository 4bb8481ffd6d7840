"""What the card API does around a decision is a bounded number of statements."""

from __future__ import annotations

import pytest

from tests.bench.cards import requests
from tests.kit.time import count_statements

MOST_STATEMENTS = {"getAccounts": 700, "createCard": 1800}


@pytest.mark.parametrize(("action", "most"), MOST_STATEMENTS.items())
def test_dispatch_validation_and_serialisation_take_few_statements(action: str, most: int) -> None:
    with requests(action) as (_, request):
        request()
        assert count_statements(request) <= most
