"""Usage groups, risk groups and the Events URL in a programme file: valid values and references."""

import re
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from chalicelib.cards.authorization.group_rules import CHANNELS, decline_code, evaluate_rules
from chalicelib.cards.ledger.transaction_attributes import TransactionAttributes
from chalicelib.cards.programs.catalogue import MccRange, RiskGroup, RiskRule, UsageGroup
from chalicelib.cards.programs.programmes import entry_key
from chalicelib.cards.protocol import values
from chalicelib.foundation.crypto import signatures
from infra.programme import file
from infra.programme.file import InvalidProgramme
from tests.cards.programmes import Content, loaded, manager, planned, region, written
from tests.causeway import Causeway
from tests.infra.operator_files import DEMO, MARK, catalogue_of, faults, rule, stored_rows
from tests.kit import inputs
from tests.kit.documents import PROGRAMME_FILE


def with_rules(*rules: Content) -> Content:
    return {"regions": [region(4)], "risk_groups": [{"id": 1, "name": "Risk", "rules": [*rules]}]}


def with_usage(**members: Any) -> Content:
    return {"usage_groups": [{"id": 1, "name": "Usage", **members}]}


# -- the demonstration's file


def test_the_default_usage_group_of_the_demo_programme_blocks_no_transaction() -> None:
    default = DEMO.card_programmes[101].usage_group_ids[0]

    assert DEMO.usage_groups[default] == UsageGroup(default, "Everything")


@pytest.mark.parametrize(
    ("group", "facts", "eci_indicator", "said"),
    [
        (602, TransactionAttributes(1, 978, 5, 6011, 276), None, "57"),
        (602, TransactionAttributes(0, 978, 81, 7995, 276), 5, "57"),
        (602, TransactionAttributes(0, 978, 5, 5411, 276), None, None),
        (603, TransactionAttributes(0, 978, 5, 5411, 276), None, "57"),
        (603, TransactionAttributes(0, 978, 81, 5411, 276), None, "1A"),
        (603, TransactionAttributes(0, 978, 81, 5411, 276), 2, None),
        (603, TransactionAttributes(0, 978, 10, 5411, 276), None, None),
        (604, TransactionAttributes(0, 978, 5, 5411, 840), None, "57"),
        (604, TransactionAttributes(0, 978, 5, 5411, 826), None, None),
    ],
)
def test_usage_groups_of_the_demo_programme_decline_the_transactions_that_their_names_state(
    group: int, facts: TransactionAttributes, eci_indicator: int | None, said: str | None
) -> None:
    assert decline_code(DEMO.usage_groups[group], facts, eci_indicator) == said


@pytest.mark.parametrize("country", [276, 826, 840])
@pytest.mark.parametrize("entry_mode", [mode for mode in values.ENTRY_MODES if mode != 80])
@pytest.mark.parametrize("transaction_type", [0, 1, 9, 20, 30])
def test_the_default_risk_groups_of_the_demo_programme_allow_ordinary_transactions(
    transaction_type: int, entry_mode: int, country: int
) -> None:
    """The rules allow 5 uses per day of up to 10,000.00, including in the currency with the highest value."""
    facts = TransactionAttributes(transaction_type, 826, entry_mode, 5411, country, holder_country=276)
    groups = {DEMO.card_programmes[101].risk_group_ids[0], DEMO.account_programmes[501].risk_group_ids[0]}
    windows: Any = {}
    for _ in range(5):
        found = [DEMO.risk_groups[number] for number in groups]
        windows, told = evaluate_rules(DEMO, found, windows, facts, 1_000_000, 826, 1_800_000_000)
        assert told.rules == ()


def test_the_strict_risk_group_of_the_demo_programme_contains_every_risk_action() -> None:
    strict = DEMO.risk_groups[404]

    assert {action for each in strict.rules for action in each.actions} == {*values.RISK_ACTIONS}
    assert 404 in DEMO.card_programmes[101].risk_group_ids
    assert 404 in DEMO.account_programmes[501].risk_group_ids
    assert DEMO.risk_groups[403].rules == ()


def test_the_demo_programme_has_risk_rules_of_every_kind() -> None:
    rules = [each for group in DEMO.risk_groups.values() for each in group.rules]

    for member in ("amount", "count", "region", "region_type", "mcc_low"):
        assert [each for each in rules if getattr(each, member)], member
    assert {each.entry_mode for each in rules} > {values.ANY_TYPE}


# -- the documents


def test_docs_list_all_channels_and_risk_actions() -> None:
    text = PROGRAMME_FILE
    (channels,) = re.findall(r"^\| `blocked_channels` \| (.+) \|$", text, re.MULTILINE)
    (actions,) = re.findall(r"^\| `actions` \| (.+) \|$", text, re.MULTILINE)

    assert tuple(re.findall("`(.+?)`", channels)) == CHANNELS
    assert tuple(re.findall("`(.+?)`", actions)) == values.RISK_ACTIONS


# -- usage groups


def test_a_usage_group_blocks_no_transaction_by_default() -> None:
    assert catalogue_of(**with_usage()).usage_groups == {1: UsageGroup(1, "Usage")}


def test_a_usage_group_has_the_member_values_of_the_programme_file() -> None:
    said = {
        "blocked_channels": [*CHANNELS],
        "blocked_mccs": [{"mcc_low": 0, "mcc_high": 9999}, {"mcc_low": 7995, "mcc_high": 7995}],
        "countries": [276, 36],
        "authenticated_online": True,
    }

    assert catalogue_of(**with_usage(**said)).usage_groups[1] == UsageGroup(
        1, "Usage", CHANNELS, (MccRange(0, 9999), MccRange(7995, 7995)), (276, 36), (), True
    )
    assert catalogue_of(**with_usage(blocked_countries=[276])).usage_groups[1].blocked_countries == (276,)


@pytest.mark.parametrize(
    ("members", "said"),
    [
        (
            {"blocked_channels": ["cash", "post"]},
            f"blocked_channels.1 must be one of {', '.join(CHANNELS[:-1])} and {CHANNELS[-1]}",
        ),
        ({"blocked_channels": ["cash", "cash"]}, "blocked_channels must not contain duplicates"),
        ({"blocked_channels": "cash"}, "blocked_channels must be a list"),
        ({"blocked_channels": [1]}, "blocked_channels.0 must be text: put it in quotes"),
        ({"blocked_mccs": [{"mcc_low": 8, "mcc_high": 7}]}, "blocked_mccs.0.mcc_low must not be more than mcc_high"),
        (
            {"blocked_mccs": [{"mcc_low": 1, "mcc_high": 10000}]},
            "blocked_mccs.0.mcc_high must be less than or equal to 9999",
        ),
        ({"blocked_mccs": [{"mcc_low": 1}]}, "blocked_mccs.0.mcc_high is missing"),
        ({"blocked_mccs": [{"mcc_low": 1, "mcc_high": 2}] * 2}, "blocked_mccs must not contain duplicates"),
        ({"countries": [999]}, "countries.0 must be a numeric ISO 3166-1 code"),
        ({"countries": [276, 276]}, "countries must not contain duplicates"),
        ({"blocked_countries": [0]}, "blocked_countries.0 must be a numeric ISO 3166-1 code"),
        ({"countries": [276], "blocked_countries": [840]}, "blocked_countries must be empty if countries is not"),
        ({"authenticated_online": 1}, "authenticated_online must be true or false"),
        ({"blocked": []}, "blocked is unknown"),
    ],
)
def test_an_invalid_usage_group_is_refused(members: Content, said: str) -> None:
    assert faults(**with_usage(**members)) == (f"usage_groups.0.{said}",)


def test_a_usage_group_has_at_most_100_mcc_ranges() -> None:
    ranges = [{"mcc_low": number, "mcc_high": number} for number in range(101)]

    assert catalogue_of(**with_usage(blocked_mccs=ranges[:100]))
    (said,) = faults(**with_usage(blocked_mccs=ranges))
    assert said.startswith("usage_groups.0.blocked_mccs must have at most 100 items")


# -- risk rules


def test_a_risk_rule_has_defaults_that_match_every_transaction() -> None:
    assert catalogue_of(**with_rules(rule())).risk_groups == {
        1: RiskGroup(1, "Risk", (RiskRule(1, "Rule 1", actions=(MARK,)),))
    }
    assert catalogue_of().risk_groups[1].rules == ()


def test_a_risk_rule_has_the_member_values_of_the_programme_file() -> None:
    said = {
        "transaction_type": 1,
        "entry_mode": 90,
        "mcc_low": 6010,
        "mcc_high": 6011,
        "country": 276,
        "region": 4,
        "region_type": 3,
        "amount": 0,
        "count": 1,
        "duration": 365,
        "actions": [*values.RISK_ACTIONS],
    }
    (found,) = catalogue_of(**with_rules(rule(7, currency=826, **said))).risk_groups[1].rules

    assert found == RiskRule(
        7,
        "Rule 7",
        amount_currency=826,
        **{**said, "actions": values.RISK_ACTIONS},  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    "members",
    [
        {"amount": 999_999_999_999_999, "currency": 978},
        *({"count": 1, "duration": duration} for duration in (1, 7, 30, 365)),
        *({"region_type": each} for each in values.REGION_TYPES),
        {"country": 0, "region": 0},
        {"count": 999_999_999, "duration": 1},
    ],
)
def test_a_valid_risk_rule_is_accepted(members: Content) -> None:
    assert catalogue_of(**with_rules(rule(**members)))


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({"actions": []}, "actions must not be empty"),
        ({"actions": None}, "actions must be a list"),
        ({"actions": [MARK, MARK]}, "actions must not contain duplicates"),
        (
            {"actions": ["ring_the_bell"]},
            f"actions.0 must be one of {', '.join(values.RISK_ACTIONS[:-1])} and {values.RISK_ACTIONS[-1]}",
        ),
        ({"amount": 1}, "currency is required if amount is present"),
        ({"currency": 978}, "amount is required if currency is present"),
        ({"amount": 1, "currency": 840}, "currency contains 840, which is not a currency of the programme manager"),
        ({"amount": -1, "currency": 978}, "amount must be a whole number"),
        ({"count": 1}, "duration is required if count is present"),
        ({"duration": 1}, "count is required if duration is present"),
        ({"count": 0, "duration": 1}, "count must be greater than or equal to 1"),
        ({"count": 1, "duration": 0}, "duration must be one of 1, 7, 30 and 365"),
        ({"mcc_low": 8, "mcc_high": 7}, "mcc_low must not be more than mcc_high"),
        ({"region": 5}, "region refers to the region 5, which is not in the file"),
        ({"region_type": 4}, "region_type must be one of 0, 1, 2 and 3"),
        ({"country": 999}, "country must be a numeric ISO 3166-1 code"),
        ({"entry_mode": 3}, "entry_mode must be one of 0, 1, 2, 5, 7, 10, 80, 81, 90, 91 and 99"),
        ({"name": None}, "name must be text: put it in quotes"),
        ({"updated_at": 1}, "updated_at is unknown"),
        ({"id": 1}, "id occurs twice"),
    ],
)
def test_an_invalid_risk_rule_is_refused(members: Content, said: str) -> None:
    assert faults(**with_rules(rule(1), rule(2) | members)) == (f"risk_groups.0.rules.1.{said}",)


def test_a_risk_rule_without_actions_is_refused() -> None:
    bare = {"id": 1, "name": "Bare"}

    assert faults(**with_rules(bare)) == ("risk_groups.0.rules.0.actions is missing",)


def test_a_risk_group_has_at_most_100_rules() -> None:
    rules = [rule(number) for number in range(1, 102)]

    assert len(catalogue_of(**with_rules(*rules[:100])).risk_groups[1].rules) == 100
    (said,) = faults(**with_rules(*rules))
    assert said.startswith("risk_groups.0.rules must have at most 100 items")


# -- kept and read again


def test_loaded_usage_and_risk_groups_equal_the_programme_file(causeway: Causeway) -> None:
    usage = {"blocked_channels": ["cash"], "blocked_mccs": [{"mcc_low": 1, "mcc_high": 2}], "countries": [276]}
    counted = rule(amount=1, currency=978, count=2, duration=7)
    content = manager(**with_usage(**usage), **with_rules(counted))
    loaded(causeway.hub, content)
    found, now = causeway.hub.cards.programmes.catalogue(content["id"]), causeway.clock.time()

    assert found.usage_groups[1] == UsageGroup(1, "Usage", ("cash",), (MccRange(1, 2),), (276,))
    assert found.risk_groups[1].rules == (
        RiskRule(1, "Rule 1", amount=1, amount_currency=978, count=2, duration=7, actions=(MARK,), updated_at=now),
    )
    assert planned(causeway.hub, content)[0].changes == []


def test_groups_stored_by_earlier_versions_without_members_are_readable(causeway: Causeway) -> None:
    content = manager()
    loaded(causeway.hub, content)
    for kind in ("usage_group", "risk_group"):
        table, key = entry_key(content["id"], kind, 1)
        row = stored_rows(causeway, content)[f"{key['owner']} {key['part']}"]
        bare = {name: row[name] for name in ("owner", "part", "id", "name")}
        causeway.hub.store.put(table, bare)
    found = causeway.another_process().cards.programmes.catalogue(content["id"])

    assert (found.usage_groups[1], found.risk_groups[1]) == (UsageGroup(1, "Usage"), RiskGroup(1, "Risk"))
    assert planned(causeway.hub, content)[0].changes == []


# -- the Events URL


@pytest.mark.parametrize("stage", ["local", "dev", "prod"])
def test_an_events_url_is_optional_and_can_use_https(stage: Any) -> None:
    for said in (None, "https://pm.example.com/events?of=cards"):
        content = manager(events_url=said, card_programmes=[])
        assert file.read_programmes(written(content), stage)[0].catalogue.events_url == said


@pytest.mark.parametrize(
    ("url", "stage", "said"),
    [
        ("http://127.0.0.1:9700/events", "local", None),
        ("http://127.0.0.1:9700/events", "dev", "must use https outside the local stage"),
        ("http://pm.example.com/events", "prod", "must use https outside the local stage"),
        ("https://127.0.0.1/events", "dev", "must not point to a private address outside the local stage"),
        ("https://intranet/events", "prod", "must not point to a private address outside the local stage"),
        ("", "local", "must be a URL of at most 2048 printable ASCII characters without spaces"),
        ("pm.example.com", "local", "must begin with https:// (or http:// in the local stage) and have a host"),
        ("https://user:pass@pm.example.com/", "local", "must not contain user information or a fragment"),
    ],
)
def test_an_events_url_follows_the_rules_of_client_urls(url: str, stage: Any, said: str | None) -> None:
    content = written(manager(events_url=url))
    if said is None:
        assert file.read_programmes(content, stage)[0].catalogue.events_url == url
        return
    with pytest.raises(InvalidProgramme) as refusal:
        file.read_programmes(content, stage)

    assert refusal.value.faults == (f"programme_managers.0.events_url {said}",)


@pytest.mark.parametrize("host", inputs.REFUSED_HOSTS)
def test_private_events_urls_in_any_ip_address_format_are_rejected_outside_the_local_stage(host: str) -> None:
    with pytest.raises(InvalidProgramme, match=r"events_url (must|is not a valid URL)"):
        file.read_programmes(written(manager(events_url=f"https://{host}/events")), "dev")


def test_a_load_can_set_change_and_remove_the_validation_values_key_and_reports_its_key_id(causeway: Causeway) -> None:
    content = manager(events_url="https://one.example/")
    loaded(causeway.hub, content)
    keys = [rsa.generate_private_key(65537, 3072).public_key() for _ in range(2)]
    one, two = map(signatures.key_id, keys)
    told = []
    for key in (*keys, None):
        wanted = content | (
            {"events_encryption_key": signatures.public_pem(key), "delivers_validation_values": True} if key else {}
        )
        (change,) = loaded(causeway.hub, wanted)[0].changes
        told.append(change.differences)
        found = causeway.another_process().cards.programmes.catalogue(content["id"])
        assert found.delivers_validation_values is bool(key)
        assert found.events_encryption_key == (key and signatures.public_pem(key))
        assert planned(causeway.hub, wanted)[0].changes == []

    assert told == [
        {"events_encryption_key": (None, one), "delivers_validation_values": (False, True)},
        {"events_encryption_key": (one, two)},
        {"events_encryption_key": (two, None), "delivers_validation_values": (True, False)},
    ]


def test_a_programme_load_can_set_change_and_remove_the_events_url(causeway: Causeway) -> None:
    content = manager()
    loaded(causeway.hub, content)
    told, catalogue_of = [], []
    for url in ("https://one.example/", "https://two.example/", None, "https://one.example/"):
        change, *secret = loaded(causeway.hub, content | {"events_url": url})[0].changes
        told.append(change.differences)
        catalogue_of.append([(each.what, each.kind) for each in secret])
        assert causeway.hub.cards.programmes.set_up(content["id"]).catalogue.events_url == url
        assert planned(causeway.hub, content | {"events_url": url})[0].changes == []

    assert told == [
        {"events_url": (None, "https://one.example/")},
        {"events_url": ("https://one.example/", "https://two.example/")},
        {"events_url": ("https://two.example/", None)},
        {"events_url": (None, "https://one.example/")},
    ]
    assert catalogue_of == [[("add", "events_secret")], [], [], []]
    loaded(causeway.hub, content)
    assert "events_url" not in stored_rows(causeway, content)[f"manager#{content['id']} manager"]
