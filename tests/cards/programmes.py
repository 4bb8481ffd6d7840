"""Set-ups of programme managers: small set-ups with unique ids, and a set-up with rates, fees and limits.

``with_tariff`` uses the ids of the demonstration programme, so an issuer creates the same records. Every rate has a
mark-up of 2.5 %. For 10.00 EUR, an account in pounds pays 8.00 plus 0.20 for the conversion. There is no rate between
pounds and yen. By default, an account has no fees and no limits. The groups in this module add fees and limits.
"""

import itertools
from collections.abc import Mapping
from typing import Any

import yaml

from chalicelib.bootstrap import Hub
from chalicelib.cards.programs.credentials import CredentialSecret
from infra.programme import file, loading
from infra.programme.loading import LoadPlan
from tests.cards.issuer import EUR, EVERYDAY, EVERYDAY_ACCOUNT, GBP, PREPAID_ACCOUNT, Issuer

Content = dict[str, Any]
PLAIN = dict.fromkeys(("pan", "pin", "cvc2", "acs_password", "expiry"), "plain")
ABSENT = dict.fromkeys(PLAIN, "absent")

_ids = itertools.count(9001)


def credential(name: str, **members: Any) -> Content:
    return {"name": name, "access_level": 1000, "actions": "all", "modes": ABSENT} | members


def manager(**members: Any) -> Content:
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
    fixed = {} if "percent" in members else {"fixed": 100}
    return {"code": code, "title": "Cash", "currency": 978} | fixed | members


def limit(number: int = 1, **members: Any) -> Content:
    return {"id": number, "amount": 1000, "currency": 978, "duration": 1} | members


def region(number: int = 1, *countries: int) -> Content:
    return {"id": number, "name": f"Region {number}", "countries": [*countries] or [276]}


def special_account(number: int = 1, **members: Any) -> Content:
    return {"id": number, "name": "Settlement", "currency": 978, "country": 276} | members


def written(*managers: Mapping[str, Any]) -> str:
    return yaml.safe_dump({"programme_managers": [*managers]})


def planned(hub: Hub, *managers: Mapping[str, Any]) -> list[LoadPlan]:
    return loading.make_plans(hub, file.read_programmes(written(*managers), "local"))


def loaded(hub: Hub, *managers: Mapping[str, Any]) -> list[LoadPlan]:
    return loading.load(hub, file.read_programmes(written(*managers), "local"))


def secret_parts(secret: CredentialSecret) -> tuple[str, str, str]:
    """Return the parts of a credential's secret in the order of the credential check."""
    assert secret.access_key is not None
    return secret.access_key, secret.access_api_id, secret.access_api_key


YEN, DINAR = 392, 414
"""A currency without decimals and a currency with three decimals."""
SPECIAL, HIDDEN_SPECIAL = 801, 802
HIDDEN = 600

NO_FEES, SEPARATE, BLENDED, CUSTOM = 301, 302, 303, 304
NO_LIMITS = {"card": 201, "account": 211, "holder": 221}
CARD_A_DAY, OUT_A_DAY, OUT_EACH, IN_A_WEEK, EURO_WORTH, COUNTRIES, DEBITS_A_YEAR, OUT_OF_HOLDER = range(231, 239)

_RATES = {
    (EUR, GBP): "0.8",
    (GBP, EUR): "1.25",
    (EUR, YEN): "160",
    (YEN, EUR): "0.00625",
    (EUR, DINAR): "0.25",
    (DINAR, EUR): "4",
}
_FEES = {
    SEPARATE: [
        fee("EXTOUT", title="To Britain", transaction_type=61, country=826, fixed=35, percent="0.2", currency=826)
        | {"minimum": 50, "maximum": 150},
        fee("EXTOUT", title="Payment out", transaction_type=61, fixed=100),
        fee("EXTIN", title="Payment in", transaction_type=60, percent="1", minimum=10, maximum=200),
        fee("DDEBIT", title="Direct debit", transaction_type=62, fixed=20),
    ],
    BLENDED: [
        fee("EXTOUT", title="Payment out", transaction_type=61, fixed=100, blended=True),
        fee("EXTIN", title="Payment in", transaction_type=60, percent="1", blended=True),
    ],
    CUSTOM: [
        fee("REPLACE", title="Replacement", transaction_type=70, fixed=500),
        fee("REPLACE", title="Replacement", transaction_type=70, fixed=450, currency=826),
        fee("SHARE", title="Share", transaction_type=70, percent="2.5", minimum=10, maximum=100),
        fee("FREE", title="Nothing", transaction_type=70, fixed=0),
        fee("YENS", title="In yen", transaction_type=70, fixed=1000, currency=YEN),
    ],
}
_LIMITS: dict[int, tuple[int, list[Content]]] = {
    CARD_A_DAY: (1, [limit(amount=700, currency=826)]),
    OUT_A_DAY: (2, [limit(name="Out a day", amount=1000, count=3, currency=826, **{"class": 3})]),
    OUT_EACH: (2, [limit(amount=500, currency=826, duration=0, **{"class": 3})]),
    IN_A_WEEK: (2, [limit(amount=1000, count=2, currency=826, duration=7, **{"class": 4})]),
    EURO_WORTH: (2, [limit(amount=1250, transaction_currency=826, duration=30)]),
    COUNTRIES: (2, [{"id": 1, "country_count": 2, "currency": 978, "duration": 1}]),
    DEBITS_A_YEAR: (2, [limit(count=2, amount=500, currency=826, transaction_type=62, duration=365)]),
    OUT_OF_HOLDER: (
        3,
        [
            limit(name="Out of all", amount=1500, currency=826, duration=30, **{"class": 3}),
            limit(2, name="Into all", amount=100_000, currency=826, duration=30, **{"class": 4}),
        ],
    ),
}


def with_tariff(issuer: Issuer, name: str = "tariff", **members: object) -> Issuer:
    content = _content() | members
    loaded(issuer.hub, content)
    return issuer.with_credential(name, manager=content["id"])


def _content() -> Content:
    limits = [{"id": number, "name": "None", "limit_type": 1 + index} for index, number in enumerate([201, 211, 221])]
    limits += [
        {"id": number, "name": f"Limits {number}", "limit_type": kind, "entries": entries}
        for number, (kind, entries) in _LIMITS.items()
    ]
    fees = [{"id": number, "name": f"Fees {number}", "entries": _FEES.get(number, [])} for number in range(301, 305)]
    accounts = {
        "currencies": [EUR, GBP, YEN, DINAR],
        "fee_group_ids": [NO_FEES, SEPARATE, BLENDED, CUSTOM],
        "limit_group_ids": [211, *(number for number, (kind, _) in _LIMITS.items() if kind == 2)],
        "risk_group_ids": [1],
        "holder_limit_group_id": 221,
    }
    cards = {
        "account_program_id": EVERYDAY_ACCOUNT,
        "fee_group_ids": [NO_FEES, SEPARATE, CUSTOM],
        "limit_group_ids": [201, CARD_A_DAY],
        "account_limit_group_id": 211,
        "account_limit_group_ids": [211],
        "holder_limit_group_id": 221,
        "currencies": [EUR, GBP],
    }
    return manager() | {
        "currencies": [EUR, GBP, YEN, DINAR],
        "exchange_rates": [
            {"of": of, "to": to, "rate": rate, "markup_percent": "2.5"} for (of, to), rate in _RATES.items()
        ],
        "regions": [region(1, 276, 250)],
        "fee_groups": fees,
        "limit_groups": limits,
        "special_accounts": [
            special_account(SPECIAL, currency=GBP, country=826, name="Settlement"),
            special_account(HIDDEN_SPECIAL, currency=EUR, access_level=HIDDEN),
        ],
        "account_programmes": [
            {"id": EVERYDAY_ACCOUNT, "name": "Blends conversions", **accounts},
            {"id": PREPAID_ACCOUNT, "name": "Does not", "conversion_fee_blended": False, **accounts},
        ],
        "card_programmes": [card_programme(id=EVERYDAY, **cards)],
    }
