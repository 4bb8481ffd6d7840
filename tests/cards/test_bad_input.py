"""Tests of near-valid and hostile input: the response is a documented error that contains no values of the request."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.cards.actions import SIMULATOR_ACTIONS
from chalicelib.cards.protocol.status_codes import Refused, Status
from chalicelib.foundation import jsontext
from tests.cards import request_records, whole_requests
from tests.cards.action_checks import call
from tests.cards.cases import MONEY_CASES
from tests.cards.issuer import Issuer
from tests.cards.whole_requests import BY_ACTION, EVERY_ACTION, Members
from tests.kit.inputs import ESCAPED, spoil
from tests.kit.logs import Lines
from tests.kit.storage import nothing_changes

ODD_TEXTS = [
    "",
    "\x00",
    "a\r\nb",
    "\ud800",
    " ",
    "ß",
    "Ω" * 50,
    "a" * 9000,
    "null",
    "0",
    "1",
    "01",
    "1,2",
    ",",
    "-1",
    "1e9",
]
odd_text = st.one_of(st.text(max_size=40), st.sampled_from(ODD_TEXTS))
json_value = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.integers(0, 9999),
        st.decimals(allow_nan=False, allow_infinity=False),
        odd_text,
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(odd_text, inner, max_size=4)),
    max_leaves=12,
)
relaxed = settings(max_examples=100)
NOT_INTERNAL = {int(status) for status in Status} - {9001}


@st.composite
def near(draw: st.DrawFn, actions: Sequence[str] = BY_ACTION) -> tuple[str, Members]:
    """Draw an action and a complete request in which members are removed, replaced or added."""
    action = draw(st.sampled_from(actions))
    members = dict(draw(st.sampled_from(whole_requests.whole(action))))
    for name in draw(st.sets(st.sampled_from(sorted(members)), min_size=1, max_size=3)):
        if draw(st.booleans()):
            members[name] = draw(json_value)
        else:
            del members[name]
    if draw(st.integers(0, 4)) == 0:
        members[draw(odd_text)] = draw(json_value)
    if isinstance(password := members.get("acs_password"), str):
        members["acs_password"] = f"§{password}"  # stands nowhere else: Hypothesis draws constants of the source, too
    return action, members


_HALF_ALONE = re.compile(rf"{re.escape(ESCAPED)}(?!\\ud[c-f])")


def as_sent(members: Members) -> Members:
    """Return the members in parsed form. Unpaired surrogates are replaced, because the JSON parser rejects them."""
    text = _HALF_ALONE.sub("?", jsontext.dumps(members))
    return dict(jsontext.loads(text))


def read(model: Any, members: Members) -> tuple[Any, Refused | None]:
    try:
        return model.read_fields(as_sent(members)), None
    except Refused as refused:
        return None, refused


@relaxed
@given(near())
def test_a_near_valid_request_is_accepted_or_rejected_with_a_code_between_2001_and_2008(
    asked: tuple[str, Members],
) -> None:
    action, members = asked
    model = EVERY_ACTION[action].request

    request, refused = read(model, members)

    if refused is not None:
        assert 2001 <= refused.status <= 2008
        assert refused.message.isprintable()
    else:
        assert jsontext.dumps(request.members()), "what was meant can be told from another request"


@settings(relaxed, max_examples=50)
@given(near())
def test_near_valid_requests_never_cause_an_internal_error(
    issuer: Issuer, lines: Lines, asked: tuple[str, Members]
) -> None:
    """The records named in the requests do not exist. Most requests are rejected, and the other requests succeed."""
    action, members = asked
    members.pop("access_key", None)

    answer = call(issuer, action, members)

    assert answer.status == "success" or answer.status_code in NOT_INTERNAL, (action, members, answer.raw)
    assert "defect" not in lines.text


@pytest.fixture(scope="module")
def standing(issuer: Issuer) -> Mapping[Any, Any]:
    records = asdict(request_records.create_records(issuer, "changeDDExternalPaymentStatus"))
    return {value: records[name] for name, value in asdict(whole_requests.NO_RECORDS).items()}


@settings(relaxed, max_examples=60)
@given(near(sorted({case.action.name for case in MONEY_CASES})))
def test_near_valid_money_requests_never_cause_an_internal_error(
    issuer: Issuer, lines: Lines, standing: Mapping[Any, Any], asked: tuple[str, Members]
) -> None:
    action, members = asked
    members.pop("access_key", None)
    named = {name: standing.get(value, value) if type(value) is int else value for name, value in members.items()}

    answer = call(issuer, action, named)

    assert answer.status == "success" or answer.status_code in NOT_INTERNAL, (action, named, answer.raw)
    assert "defect" not in lines.text


@pytest.mark.parametrize(
    "name", ["", " ", "\x00", "a" * 1000, "__proto__", "self", "cls", "body", "nulls", "_nulls", "further"]
)
def test_an_unknown_member_of_any_name_returns_code_2008(issuer: Issuer, name: str) -> None:
    answer = call(issuer, "updateHolder", {"holder_id": "x", name: 1})

    assert answer.status_code == 2002, "the first fault in the order of the table"
    assert "is not recognised" in answer.message
    alone = call(issuer, "getDesign", {"program_id": 101, name: 1})
    assert alone.status_code == 2008


@pytest.mark.parametrize("action", BY_ACTION)
def test_every_action_rejects_an_unpaired_surrogate_as_invalid_json(
    issuer: Issuer, monkeypatch: pytest.MonkeyPatch, action: str
) -> None:
    bodies = [body for whole in whole_requests.whole(action) for body in spoil(issuer.body(action, **whole))]
    with nothing_changes(issuer.causeway, monkeypatch):
        for body in bodies:
            answer = issuer.send(jsontext.dumps(body).encode(), simulator=action in SIMULATOR_ACTIONS)
            assert answer.status_code == Status.NOT_JSON, body
            assert "half of a surrogate pair" in answer.message


def test_a_request_with_60000_members_returns_code_2008_in_a_short_response(issuer: Issuer) -> None:
    many = {f"m{number}": number for number in range(60_000)}

    answer = call(issuer, "getDesign", many)

    assert answer.status_code == 2008
    assert len(answer.raw) < 20_000
