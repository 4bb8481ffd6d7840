"""The documents of the card API agree with the tables of actions, fields, codes, lists and states."""

import json
import re
from collections.abc import Mapping
from typing import Any

import pytest

from chalicelib.cards.actions import ACTIONS, SIMULATOR_ACTIONS
from chalicelib.cards.issuing import card_record, holder_record
from chalicelib.cards.protocol import (
    card_messages,
    card_records,
    holder_messages,
    payment_states,
    schemes,
    states,
    values,
)
from chalicelib.cards.protocol.card_events import EVENTS
from chalicelib.cards.protocol.fields import ENTRIES
from chalicelib.cards.protocol.message import ENVELOPE, Request
from chalicelib.cards.protocol.status_codes import Status, refused_field
from chalicelib.cards.requests import envelope
from chalicelib.cards.requests.action import Action
from chalicelib.cards.three_ds import acs_record
from infra.render.openapi.cards.answer_models import answer_of, data_of
from infra.render.openapi.cards.tables import LISTS
from tests.kit.documents import CARDS, DELIVERY, blocks, reference, rows, section, tables

pytestmark = pytest.mark.usefixtures("rendered")
EVERY: Mapping[str, Action] = {**ACTIONS, **SIMULATOR_ACTIONS}
EACH = pytest.mark.parametrize("action", EVERY.values(), ids=EVERY)
HOURS, DAYS = 3600, 24 * 3600
BLOCKS = {
    "the [holder block](#holder-block)": "## Holder block",
    "the [delivery and bulk block](#delivery-and-bulk-block)": "## Delivery and bulk block",
}


def page() -> str:
    return "\n".join([CARDS, reference("card-actions"), reference("card-values")])


def of_action(action: Action) -> str:
    return section(page(), f"### `{action.name}`")


def fields(text: str, head: str) -> dict[str, str]:
    """Return all fields in the tables whose first column has the title ``head``, each with the content of the second
    column.
    """
    return {row[0]: row[1] for table in tables(text) if table[0][0] == head for row in table[2:]}


def table(heading: str, first: str) -> dict[str, list[str]]:
    """Map the first cell of each row to the others, in the first table below ``heading`` with the title ``first``."""
    found, *_ = [each[2:] for each in tables(section(page(), heading)) if each[0][0] == first]
    return {row[0]: row[1:] for row in found}


# -- Actions


def test_docs_list_exactly_the_card_actions() -> None:
    groups = re.findall(r"\[([\w ]+)\]\(#", section(reference("card-actions"), "## Actions"))
    sections = [section(reference("card-actions"), f"## {group}") for group in groups]
    found = [re.findall("^### `([A-Za-z0-9]+)`$", each, re.MULTILINE) for each in sections]
    tables_of_groups = [tables(each)[0] for each in sections]
    listed = [(row[0], row[1:]) for rows_of_group in tables_of_groups for row in rows_of_group[2:]]

    assert sorted(name for names in found for name in names) == sorted(EVERY)
    assert found == [[re.sub(r"\[(.+)\]\(.*", r"\1", row[0]) for row in each[2:]] for each in tables_of_groups]
    assert {re.sub(r"\[(.+)\]\(.*", r"\1", name): cells for name, cells in listed} == {
        name: [action.summary, action.effect] for name, action in EVERY.items()
    }


def test_docs_list_exactly_the_card_events_and_their_members() -> None:
    text = reference("card-events")
    listed = [row for row in rows(text) if row[0].startswith("[")]

    assert [[re.sub(r"\[(.+)\]\(.*", r"\1", name), said] for name, said in listed] == [
        [name, row.meaning] for name, row in EVENTS.items()
    ]
    assert re.findall("^## `(.+)`$", text, re.MULTILINE) == list(EVENTS)
    for name in EVENTS:
        members = fields(section(text, f"## `{name}`"), "Member of data").keys()
        assert {member for member in members if "." not in member} == data_of(name).model_fields.keys()
    told = {cells[0] for cells in rows(section(DELIVERY, "### Card events"))[2:]}
    assert told <= EVENTS.keys()


def test_docs_list_exactly_the_envelope_fields() -> None:
    assert (
        fields(section(page(), "## Every request"), "Envelope field").keys() == ENVELOPE | Request.model_fields.keys()
    )


@EACH
def test_docs_list_exactly_the_request_fields_of_each_action(action: Action) -> None:
    text = of_action(action)
    found = fields(text, "Request field")
    for link, heading in BLOCKS.items():
        found |= fields(section(page(), heading), "Request field") if link in text else {}
    declared = {name: field for name, field in action.request.model_fields.items() if name not in Request.model_fields}

    assert found.keys() == declared.keys()
    assert {name for name, need in found.items() if need == "mandatory"} == {
        name for name, field in declared.items() if field.is_required()
    }


@EACH
def test_docs_list_exactly_the_response_fields_of_each_action(action: Action) -> None:
    answer, found = answer_of(action), fields(of_action(action), "Response field")
    inside = {name for name in found if "." in name}

    assert found.keys() - inside == (answer.model_fields.keys() if answer else set())
    nested = {"expiration", "source_bank_account_address", "destination_bank_account_address"}
    assert {name.partition(".")[0] for name in inside} <= nested


@EACH
def test_examples_of_card_actions_match_their_models(action: Action) -> None:
    request, *answers = [json.loads(block) for block in blocks(of_action(action), "json")]

    action.request.read_fields(request)
    assert request["action"] == action.name
    model = answer_of(action)
    assert len(answers) == (model is not None)
    for answer in answers:
        assert model is not None
        for entry in answer["data"] if action.shape == "list" else [answer["data"]]:
            model.read(entry)


def test_docs_list_exactly_the_fields_of_holder_and_delivery_blocks() -> None:
    holder, delivery = (fields(section(page(), heading), "Request field") for heading in BLOCKS.values())

    assert holder.keys() == {"holder_id", *holder_messages.HOLDER_BLOCK}
    assert delivery.keys() == {*card_messages.DELIVERY_BLOCK}
    assert {name for name, need in delivery.items() if need == "conditional"} == {
        *card_messages.DELIVERY_MANDATORY,
        *card_messages.BULK_MANDATORY,
    }


def test_identifiers_in_the_card_docs_exist() -> None:
    models = [model for action in EVERY.values() for model in (action.request, answer_of(action)) if model]
    models += map(data_of, EVENTS)
    known = {name for model in models for name in model.model_fields} | ENVELOPE | EVERY.keys() | EVENTS.keys()
    known |= {"status", "duplicated", "data", "status_code", "message", "year", "month"}
    known |= {"item_count", "total_items_count", "has_more_records", *values.RISK_ACTIONS, *values.SECURITY_CHECKS}
    prose = re.sub(r"^```.*?^```$", "", page(), flags=re.DOTALL | re.MULTILINE)
    words = set(re.findall(r"`((?:[a-z]+_[a-z0-9_]+|(?:[a-z0-9]+[A-Z])[A-Za-z0-9]+))(?: [01])?`", prose))

    assert words - known == set()


# -- Tables


def test_docs_list_every_status_code() -> None:
    assert table("## Status codes", "Code") == {
        str(status.value): [status.meaning, "yes" if status.is_stored else "no"] for status in Status
    }


def test_docs_list_exactly_the_value_lists() -> None:
    modules = (values, states, payment_states, schemes)
    every = {name: found for module in modules for name, found in vars(module).items() if name[0] != "_"}
    lists = [
        found for found in every.values() if isinstance(found, dict) and isinstance(next(iter(found.values())), str)
    ]
    headings = re.findall("^### (.+)$", section(page(), "## Value lists"), re.MULTILINE)

    assert headings == list(LISTS)
    for name, meanings in LISTS.items():
        assert table(f"### {name}", "Value") == {str(value): [meaning] for value, meaning in meanings.items()}
    for found in lists:
        codes = (values.RESPONSE_CODES, payment_states.PAYMENT_STATES)  # which the prose has
        is_of_codes = any(set(found.values()) <= each.keys() for each in codes)
        assert is_of_codes or any(found.items() <= meanings.items() for meanings in LISTS.values()), found


@pytest.mark.parametrize(
    ("heading", "rules"),
    [
        ("### Account", states.ACCOUNT_RULES),
        ("### Card", states.CARD_RULES),
        ("### External payment address", payment_states.ADDRESS_RULES),
        ("### Mandate", payment_states.MANDATE_RULES),
        ("### Authorization", states.AUTHORIZATION_RULES),
    ],
)
def test_docs_list_the_allowed_states_of_every_card_action(heading: str, rules: Any) -> None:
    found = table(heading, "Action")

    assert found == {
        action: ["yes" if status is None else str(status.value) for status in rule.values()]
        for action, rule in rules.items()
    }


def test_docs_list_the_status_changes_of_cards() -> None:
    assert {before: set(after.split(", ")) for before, (after,) in table("### Card", "From").items()} == {
        before: set(after) for before, after in states.CARD_MOVES.items()
    }


def test_docs_list_the_response_codes_of_inactive_cards_and_accounts() -> None:
    assert table("## Lifecycle", "Status") == {state: [code] for state, code in states.DECLINED_BY_CARD.items()}
    said = re.sub(r"\s+", " ", section(page(), "## Lifecycle"))
    for code in set(states.DECLINED_BY_ACCOUNT.values()):
        named = " or ".join(state for state, other in states.DECLINED_BY_ACCOUNT.items() if other == code)
        assert f"{named} ({code})" in said


def test_docs_list_the_states_of_a_3_d_secure_request() -> None:
    found = table("## 3-D Secure", "State of the request")
    stored = {acs_record.WAITING, acs_record.CONFIRMED, acs_record.REFUSED, acs_record.FAILED}

    assert {word for cell in found for word in cell.split(", ")} == {*stored, "expired"}
    assert found["failed"][1].startswith(f"{acs_record.TRIES} wrong")
    assert found["expired"][1].startswith(f"{acs_record.VALID_SECONDS} seconds")


# -- Rules in words


def test_docs_list_existing_status_codes_in_the_order_of_checks() -> None:
    said = list(table("## Calling", "Order of checks").values())
    told = [code for (cell,) in said for code in re.findall("[0-9]{4}", cell)]

    assert {int(code) for code in told} <= set(Status)
    assert envelope.BODY_BYTES == 1_000_000, "the words on bodies say so"


def test_examples_of_card_api_envelopes_match_the_service() -> None:
    success, error = [json.loads(block) for block in blocks(section(page(), "## Calling"), "json")]
    refused = refused_field("program_id", "missing", "is required")

    design = answer_of(EVERY["getDesign"])
    assert design is not None
    assert [design.read(entry) for entry in success["data"]]
    assert (error["status_code"], error["message"]) == (refused.status, refused.message)


def test_docs_list_the_modes_and_rights_of_credentials() -> None:
    modes = table("## Modes", "Mode")

    assert tuple(modes) == card_records.MODES
    rights = table("## Credentials", "Right")
    assert {*re.findall("`(.+?)`", "`pan`, `pin`, `cvc2`, `acs_password`")} | {"expiry"} == set(
        card_records.CARD_FIELDS
    )
    assert "0 to 1000" in rights["Level"][0]


def test_docs_state_the_retention_of_stored_responses() -> None:
    found = table("## Repeats", "The same credential sends again")
    reveals = [name for name, action in ACTIONS.items() if action.effect == "reveal"]
    sealing = [name for name, action in ACTIONS.items() if action.seals]

    assert f"for {envelope.KIND.lifetime // DAYS} days" in found["The same reference and the same fields"][0]
    assert f"{', '.join(sealing)} after {envelope.CARD_DATA_RETENTION // HOURS} hours" in found
    assert set(reveals) == set(next(name for name in found if name.startswith("getPin")).split(", "))


def test_docs_state_the_limits_of_cards_and_holders() -> None:
    found = {name: cell for name, (cell,) in table("## Lifecycle", "Subject").items()}

    assert f"After {states.PIN_TRIES} wrong entries" in found["PIN"]
    assert found["Wrong card data at activateCard, wrong CVC2s"].startswith(f"{states.MISMATCHES_A_DAY} of each")
    assert re.findall("[0-9]+", found["Limits"]) == [
        str(ENTRIES),
        str(holder_record.MOST_ACCOUNTS),
        str(card_record.MOST_ACCOUNTS),
    ]
    for code in re.findall("(?:with|of .+? card) with ([0-9]{2})", found["Reissue"]):
        assert code in values.RESPONSE_CODES


def test_every_row_of_a_docs_table_has_the_full_number_of_cells() -> None:
    for each in tables(page()):
        assert {len(row) for row in each} == {len(each[0])}, each[0]
    assert rows(page())
