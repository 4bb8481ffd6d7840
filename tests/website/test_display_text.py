"""Display texts: durations in their largest unit, times in UTC, and advice for each error."""

import pytest

from chalicelib.openbanking.protocol.errors import Fault, Refusal
from chalicelib.openbanking.protocol.versions import VERSIONS
from chalicelib.website import display_text


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (-1, "0 seconds"),
        (0, "0 seconds"),
        (1, "1 second"),
        (59, "59 seconds"),
        (60, "1 minute"),
        (3599, "59 minutes"),
        (7199, "1 hour"),
        (86399, "23 hours"),
        (86400, "1 day"),
        (180 * 86400, "180 days"),
    ],
)
def test_a_duration_is_shown_in_its_largest_unit(seconds: int, said: str) -> None:
    assert display_text.span(seconds) == said


def test_a_timestamp_is_shown_with_its_time_zone() -> None:
    assert display_text.moment(1_767_225_605) == "1 Jan 2026, 00:00:05 UTC"


@pytest.mark.parametrize(
    ("text", "said"), [("it failed", "It failed."), ("Why?", "Why?"), ("Done!", "Done!"), ("So.", "So."), ("", ".")]
)
def test_a_message_is_formatted_as_a_sentence(text: str, said: str) -> None:
    assert display_text.sentence(text) == said


@pytest.mark.parametrize(
    ("member", "message", "said"),
    [
        ("callback_url", "callback_url must begin with https://", "Callback URL must begin with https://."),
        ("callback_url", "the host of callback_url is unknown", "The host of callback_url is unknown."),
        ("draft", "draft is missing", "Draft is missing."),
    ],
)
def test_an_error_identifies_a_field_by_its_label(member: str, message: str, said: str) -> None:
    assert display_text.field_error(member, message) == said


@pytest.mark.parametrize("fault", Fault)
def test_every_refusal_has_a_message_and_advice(fault: Fault) -> None:
    told = display_text.refusal_advice(Refusal(fault, "it went wrong"))

    assert told.startswith("It went wrong. ")
    assert told.removeprefix("It went wrong. ") == display_text.REFUSAL_ADVICE.get(
        fault, "Change the request, and run it again."
    )


@pytest.mark.parametrize("error", [*display_text.RETURN_ADVICE, "anything", ""])
def test_every_callback_error_has_advice(error: str) -> None:
    assert display_text.return_advice(error).endswith(".")


def test_every_payment_status_has_a_text_and_an_unknown_status_has_no_text() -> None:
    for version in VERSIONS.values():
        meanings = version.statuses.meanings
        assert {status: display_text.payment_status(str(status)) for status in meanings} == meanings
    assert display_text.payment_status("NOSUCH") == display_text.payment_status(None) == ""


def test_rate_limit_advice_contains_the_time_to_wait() -> None:
    assert "wait 15 minutes" in display_text.retry_advice(900)


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0, "0 seconds"),
        (59, "59 seconds"),
        (60, "1 minute"),
        (5400, "1 hour and 30 minutes"),
        (604_800, "7 days"),
        (93_784, "1 day and 2 hours"),
        (86_460, "1 day and 1 minute"),
    ],
)
def test_a_clock_advance_is_formatted_in_its_two_largest_units(seconds: int, said: str) -> None:
    assert display_text.elapsed(seconds) == said


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, "none"),
        (True, "yes"),
        (False, "no"),
        ([], "none"),
        (["https://a.example/", "https://b.example/"], "https://a.example/, https://b.example/"),
        ({"keys": [{"kty": "EC", "kid": "one"}, {"kty": "RSA"}]}, "one, RSA without kid"),
        ("fapi2", "fapi2"),
    ],
)
def test_a_value_in_the_history_is_described_in_words(value: object, said: str) -> None:
    assert display_text.change_value(value) == said
