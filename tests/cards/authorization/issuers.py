"""A card programme with a rule for every decline reason, and helpers that read authorization decisions.

Rates and fees are the same as in ``shops``. By default, a card can be used everywhere and has no limits and no risk
rules. The groups in this module add restrictions.
"""

from collections.abc import Sequence
from typing import Any

from chalicelib.cards.authorization import activity_record
from chalicelib.cards.authorization.activity_record import ZEROS
from chalicelib.cards.authorization.card_context import CardContext, read_card_context
from chalicelib.cards.issuing.card_record import Card
from chalicelib.cards.protocol.values import RISK_ACTIONS, SECURITY_CHECKS
from chalicelib.cards.storage.time_ordered import Timeline
from chalicelib.foundation.dynamodb.store import Item
from tests.cards.authorization.shops import FREE, Holder, content, new_holder
from tests.cards.issuer import DELIVERY, GBP, PIN, Issuer
from tests.cards.programmes import Content, limit, loaded

SUSPICIOUS, NOTIFY, TO_RISK, TO_SUSPENDED, REJECT = RISK_ACTIONS
AMERICA = 840

ANYWHERE, NO_CASH, AUTHENTICATED = 601, 602, 603
"""Usage groups. ``ANYWHERE`` permits every use. ``NO_CASH`` blocks cash, gambling (7995) and the United States.
``AUTHENTICATED`` requires 3-D Secure for online purchases.
"""
UNWATCHED, WATCHED, WATCHED_TOO = 401, 402, 403
"""Risk groups. ``UNWATCHED`` has no rules. The rules of the other groups apply to merchant categories."""
OF_MCC = {"1001": SUSPICIOUS, "1002": NOTIFY, "1003": TO_RISK, "1004": TO_SUSPENDED, "1005": REJECT}
ALL_AT_ONCE, THIRD_TIME, LARGE = "1006", "1007", "1008"
"""Merchant categories. The rule of ``ALL_AT_ONCE`` performs all actions. ``THIRD_TIME`` is rejected from the third
attempt of a day. ``LARGE`` is rejected from 10.00 EUR.
"""
EACH_CARD, TWICE_A_DAY, ONE_COUNTRY = 203, 204, 205
"""Limit groups of cards: 50.00 GBP per use, two uses per day, and one country per day."""
NEVER, EACH_ACCOUNT, EACH_HOLDER, TWICE_A_HOLDER = 206, 213, 223, 224
"""Limit groups. ``NEVER`` permits no use. ``EACH_ACCOUNT`` permits 60.00 GBP per use of an account, ``EACH_HOLDER``
permits 70.00 GBP per use by a holder, and ``TWICE_A_HOLDER`` permits two uses per day by a holder.
"""


def _rule(number: int, mcc: str, *actions: str, **members: Any) -> Content:
    return (
        {"id": number, "name": f"Rule {number}", "mcc_low": int(mcc), "mcc_high": int(mcc)}
        | members
        | {"actions": [*actions]}
    )


def with_strict_rules(issuer: Issuer, name: str = "strict") -> Issuer:
    made = content()
    rules = [_rule(number, mcc, action) for number, (mcc, action) in enumerate(OF_MCC.items(), start=1)]
    rules += [
        _rule(6, ALL_AT_ONCE, *RISK_ACTIONS),
        _rule(7, THIRD_TIME, REJECT, count=2, duration=1),
        _rule(8, LARGE, REJECT, amount=1000, currency=978),
    ]
    too = [_rule(1, "1001", NOTIFY), _rule(2, THIRD_TIME, SUSPICIOUS, count=1, duration=1)]
    made["risk_groups"] = [
        {"id": UNWATCHED, "name": "Unwatched"},
        {"id": WATCHED, "name": "Watched", "rules": rules},
        {"id": WATCHED_TOO, "name": "Watched, too", "rules": too},
    ]
    made["usage_groups"] = [
        {"id": ANYWHERE, "name": "Anywhere"},
        {
            "id": NO_CASH,
            "name": "No cash",
            "blocked_channels": ["cash"],
            "blocked_mccs": [{"mcc_low": 7995, "mcc_high": 7995}],
            "blocked_countries": [AMERICA],
        },
        {"id": AUTHENTICATED, "name": "Authenticated", "authenticated_online": True},
    ]
    limits = {
        EACH_CARD: (1, limit(duration=0, amount=50_00, currency=GBP)),
        TWICE_A_DAY: (1, {"id": 1, "count": 2, "currency": GBP, "duration": 1}),
        ONE_COUNTRY: (1, {"id": 1, "country_count": 1, "currency": GBP, "duration": 1}),
        NEVER: (1, {"id": 1, "count": 0, "currency": GBP, "duration": 1}),
        EACH_ACCOUNT: (2, limit(duration=0, amount=60_00, currency=GBP)),
        EACH_HOLDER: (3, limit(duration=0, amount=70_00, currency=GBP)),
        TWICE_A_HOLDER: (3, {"id": 1, "count": 2, "currency": GBP, "duration": 1}),
    }
    made["limit_groups"] += [
        {"id": number, "name": f"Limits {number}", "limit_type": kind, "entries": [entry]}
        for number, (kind, entry) in limits.items()
    ]
    risks, usages = ([group["id"] for group in made[name]] for name in ("risk_groups", "usage_groups"))
    for programme in made["account_programmes"]:
        programme["risk_group_ids"] = risks
        programme["limit_group_ids"] = [211, 212, EACH_ACCOUNT]
    for programme in made["card_programmes"]:
        programme |= {"risk_group_ids": risks, "usage_group_ids": usages}
        programme["limit_group_ids"] = [201, 202, EACH_CARD, TWICE_A_DAY, ONE_COUNTRY, NEVER]
        programme["account_limit_group_ids"] = [211, 212, EACH_ACCOUNT]
    loaded(issuer.hub, made)
    return issuer.with_credential(name, manager=made["id"])


def cardholder(issuer: Issuer, funds: int = 100_00, **members: Any) -> Holder:
    """Create a holder with a physical card, a PIN and ``funds`` on an account in pounds without fees."""
    least: dict[str, Any] = {"card_virtual": 0, "card_pin": PIN, "order_shipping_method": 1, "card_fee_group_id": FREE}
    return new_holder(issuer, funds, **least | members)


def card_context_of(user: Holder) -> CardContext:
    hub = user.issuer.hub
    [item] = hub.store.batch_get([Card.key(user.card_id)])
    assert item is not None
    card = Card.from_item(item)
    return read_card_context(hub.store.batch_get, hub.cards.programmes.catalogue(card.manager_id), card)


def code(user: Holder, amount: int = 10_00, currency: int = GBP, **members: Any) -> str:
    """Request a purchase, by default of 10.00 GBP, and return the response code."""
    return str(user.request_authorization(amount, currency, **members)["response_code"])


def advice(user: Holder, amount: int, currency: int = GBP, **members: Any) -> Any:
    least = {"card_id": user.card_id, "transaction_type": 0, "amount": amount, "currency_ison": currency}
    return user.issuer.data("simulateAdvice", **least | {"response_code": "00"} | members)


def card_item(user: Holder) -> Item:
    found = user.issuer.hub.store.get(*Card.key(user.card_id))
    assert found is not None
    return found


def change_card(user: Holder, **members: Any) -> None:
    table, key = Card.key(user.card_id)
    user.issuer.hub.store.update(table, key, set=members)


def other(digits: str) -> str:
    return f"{(int(digits) + 1) % 10 ** len(digits):0{len(digits)}}"


def reissued(issuer: Issuer, status: str = "A") -> Holder:
    """Create a card in ``status`` and reissue the card with a new number. The returned holder has the old number."""
    user = cardholder(issuer)
    issuer.data("changeCardStatus", card_id=user.card_id, status=status)
    reissue(user)
    return user


def reissue(user: Holder) -> None:
    new = DELIVERY | {"order_shipping_method": 1, "card_name_line_3": "ZOE ONEIL", "generate_new_pan": 1}
    user.issuer.data("reissueCard", card_id=user.card_id, **new)


# -- what is written down


def complete(row: Item) -> Item:
    flags = {"risk_actions": RISK_ACTIONS, "security_checks": SECURITY_CHECKS}
    return {**ZEROS, **row, **{name: dict.fromkeys(every, 0) | row.get(name, {}) for name, every in flags.items()}}


def rows(user: Holder, lists: Sequence[Timeline]) -> list[Item]:
    """Return the rows about a card from several lists without their keys, in the order of recording."""
    store = user.issuer.hub.store
    found = [
        row for each in lists for row in store.rows(each.table, ("owner", each.owner), sort_prefix=("part", each.name))
    ]
    bare = [{name: value for name, value in complete(row).items() if name not in ("owner", "part")} for row in found]
    return sorted(
        (row for row in bare if row.get("card_id") == user.card_id), key=lambda row: (row["at"], row["authorize_id"])
    )


def messages(user: Holder) -> list[Item]:
    """Return every message about a card. Check that the manager's list of all cards has the same messages."""
    listed = rows(user, [activity_record.of_card(user.card_id)])
    of_all = rows(user, activity_record.of_manager(listed[0]["manager_id"] if listed else 0))
    assert _without_time(of_all) == _without_time(listed)
    return listed


def _without_time(listed: Sequence[Item]) -> dict[int, Item]:
    """Return rows by message number, without the time, because late declines have a later time in the card's list."""
    return {row["authorize_id"]: {**row, "at": None} for row in listed}


def authorizes(user: Holder) -> list[int]:
    found = rows(user, [activity_record.of_card(user.card_id, activity_record.AUTHORIZES)])
    assert [row for row in messages(user) if row["authorize_id"] in {each["authorize_id"] for each in found}] == found
    return [row["authorize_id"] for row in found]
