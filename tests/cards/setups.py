"""Small set-ups of programme managers for tests, each with an id that nobody else uses."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import yaml

from chalicelib.bootstrap import Hub
from chalicelib.cards.programs.credentials import CredentialSecret
from infra.programme import file, loading
from infra.programme.loading import LoadPlan

Content = dict[str, Any]
PLAIN = dict.fromkeys(("pan", "pin", "cvc2", "acs_password", "expiry"), "plain")
ABSENT = dict.fromkeys(PLAIN, "absent")

_ids = itertools.count(9001)


def credential(name: str, **members: Any) -> Content:
    return {"name": name, "access_level": 1000, "actions": "all", "modes": ABSENT} | members


def manager(**members: Any) -> Content:
    """A programme manager with little, as a file says it."""
    return {
        "id": next(_ids),
        "name": "Small Programme",
        "currencies": [978, 826],
        "test_bins": ["222300"],
        "exchange_rates": [{"of": 978, "to": 826, "rate": "0.86"}],
        "products": [{"id": 1, "name": "Debit", "sub_product_id": 1}],
        "designs": [{"id": 1, "name": "Blue"}, {"id": 2, "name": "Green"}],
        "fee_groups": [{"id": 1, "name": "Fees"}],
        "limit_groups": [
            {"id": 1, "name": "Cards", "limit_type": 1},
            {"id": 2, "name": "Accounts", "limit_type": 2},
            {"id": 3, "name": "Holders", "limit_type": 3},
        ],
        "risk_groups": [{"id": 1, "name": "Risk"}],
        "usage_groups": [{"id": 1, "name": "Usage"}],
        "shipping_methods": [{"id": 1, "name": "Letter"}],
        "account_programmes": [
            {"id": 1, "name": "Account", "currencies": [978], "fee_group_ids": [1], "risk_group_ids": [1]}
        ],
        "card_programmes": [card_programme()],
        "credentials": [credential("app")],
    } | members


def card_programme(**members: Any) -> Content:
    groups = {f"{kind}_ids": [1] for kind in ("fee_group", "limit_group", "usage_group", "risk_group")}
    return {
        "id": 1,
        "name": "Card",
        "bin": "222300",
        "virtual": True,
        "physical": True,
        "currencies": [978],
        "service_code": "201",
        "validity_months": 36,
        "max_validity_months": 60,
        "account_program_id": 1,
        "product_ids": [1],
        "design_ids": [1],
        "shipping_method_ids": [1],
        **groups,
        "account_limit_group_id": 2,
        "account_limit_group_ids": [2],
        "holder_limit_group_id": 3,
    } | members


def fee(code: str = "ATM", **members: Any) -> Content:
    """An entry of a fee group: a price of 1.00 EUR, without other members."""
    fixed = {} if "percent" in members else {"fixed": 100}
    return {"code": code, "title": "Cash", "currency": 978} | fixed | members


def limit(number: int = 1, **members: Any) -> Content:
    """An entry of a limit group: 10.00 EUR a day, without other members."""
    return {"id": number, "amount": 1000, "currency": 978, "duration": 1} | members


def region(number: int = 1, *countries: int) -> Content:
    return {"id": number, "name": f"Region {number}", "countries": [*countries] or [276]}


def special_account(number: int = 1, **members: Any) -> Content:
    return {"id": number, "name": "Settlement", "currency": 978, "country": 276} | members


def written(*managers: Mapping[str, Any]) -> str:
    """A file of them."""
    return yaml.safe_dump({"programme_managers": [*managers]})


def planned(hub: Hub, *managers: Mapping[str, Any]) -> list[LoadPlan]:
    return loading.make_plans(hub, file.read_programmes(written(*managers), "local"))


def loaded(hub: Hub, *managers: Mapping[str, Any]) -> list[LoadPlan]:
    return loading.load(hub, file.read_programmes(written(*managers), "local"))


def shown(secret: CredentialSecret) -> tuple[str, str, str]:
    """A secret's parts as a call shows them."""
    assert secret.access_key is not None
    return secret.access_key, secret.access_api_id, secret.access_api_key
