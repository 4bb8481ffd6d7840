"""The callback pages: the page after an authorization, with its journey, and the page after a payment."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from chalice.app import Response

from chalicelib.foundation.http.web import json_answer
from chalicelib.foundation.identifiers import OpaqueToken
from chalicelib.openbanking.protocol.errors import Refusal
from chalicelib.openbanking.records.client_record import Client
from chalicelib.openbanking.records.clients import UnknownClient
from chalicelib.website.authorization import call_samples
from chalicelib.website.authorization.call_samples import SampleCall
from chalicelib.website.authorization.web_tpp_flow import (
    check_consent,
    end_consent,
    exchange_code,
    receive_callback,
    refresh_tokens,
)
from chalicelib.website.display_text import (
    END_REASONS,
    is_final_status,
    payment_headline,
    payment_status,
    refusal_advice,
    return_advice,
)
from chalicelib.website.notices import Notice
from chalicelib.website.pages import NO_REFERRER, Visit, end_consent_question, message_page, page, question_page
from chalicelib.website.records.attempts import client_network
from chalicelib.website.records.journeys import Journey, JourneyChanged

if TYPE_CHECKING:
    from chalicelib.openbanking.flows.payments.callback_status import StatusResult

_CALLBACK = "/authorize/callback"
_NOTICES: Mapping[str, Notice] = {
    "exchange": Notice.CODE_EXCHANGED,
    "refresh": Notice.TOKENS_REFRESHED,
    "end": Notice.CONSENT_ENDED,
}
"""The notice that the page shows after each action."""
_PAYMENT_FIELDS = ("bic", "payment_id", "status", "message")
_TEXT_LENGTH = 256  # characters shown of a value from the URL, which anyone can forge


def authorization_callback(visit: Visit) -> Response:
    """``GET /authorize/callback``: continue the user's own journey, or display any other callback.

    With ``format=json``, return only the stage of the user's journey. The page polls it to detect changes.
    """
    query = dict(visit.incoming.query)
    if query.get("format") == "json":
        return _stage_answer(visit, query)
    if visit.email is not None:
        try:
            journey = (
                _find_journey(visit, query)
                if visit.incoming.is_head
                else visit.website.call(receive_callback, visit.user, query)
            )
        except Refusal as refusal:
            return _journey_page(visit, _find_journey(visit, query), refusal_advice(refusal))
        if journey is not None:
            if query.get("ask") == "end" and journey.stage == "tokens":
                return _end_consent_page(visit, journey)
            if query.keys() & {"code", "authorization_code", "error"}:
                # without the code in the URL, so that the page can be reloaded
                return visit.redirect(_CALLBACK, state=journey.state)
            return _journey_page(visit, _check_consent(visit, journey))
    return _stranger_page(visit, query)


def continue_journey(visit: Visit) -> Response:
    """``POST /authorize/callback``: ``action`` is ``exchange``, ``refresh`` or ``end``."""
    journey = visit.website.journeys.find(visit.user, visit.field("state"))
    steps: Mapping[str, Callable[..., Journey]] = {
        "exchange": exchange_code,
        "refresh": refresh_tokens,
        "end": end_consent,
    }
    step = steps.get(visit.field("action"))
    if journey is None or step is None:
        return _journey_page(visit, journey)
    try:
        changed = visit.website.call(step, journey, visit.field("client_secret") or None)
    except Refusal as refusal:
        return _journey_page(
            visit, visit.website.journeys.find(visit.user, journey.state), refusal_advice(refusal), 400
        )
    except JourneyChanged:  # by the same form, submitted twice
        return visit.redirect_with_notice(_CALLBACK, Notice.JOURNEY_CHANGED, state=journey.state)
    return visit.redirect_with_notice(_CALLBACK, _NOTICES[visit.field("action")], state=changed.state)


def payment_callback(visit: Visit) -> Response:
    """``GET /payments/callback``: show the payment status in the URL, and the status at the bank.

    The status at the bank is shown because the URL can be forged. The bank is queried, within limits, if the payment's
    callback_url contained its ``bic``. The page reloads until the status is final.
    """
    from chalicelib.openbanking.flows.payments.callback_status import find_payment_status

    query = dict(visit.incoming.query)
    bic, payment_id = query.get("bic", ""), query.get("payment_id", "")
    known = None
    if bic and payment_id and not visit.incoming.is_head:
        own, visitor = visit.website.openbanking.clients.default_callback, client_network(visit.ip_address)
        known = visit.website.openbanking.call(find_payment_status, bic, payment_id, callback_url=own, address=visitor)
    is_final = known is not None and (known.outcome == "not_accepted" or is_final_status(known.status))
    return page(
        visit,
        "payment.html",
        referrer=NO_REFERRER,
        is_final=is_final,
        headline=_payment_headline(payment_id, known),
        address=visit.link("/payments/callback", **{name: query[name] for name in _PAYMENT_FIELDS if name in query}),
        payment_id=payment_id,
        reported_status=query.get("status"),
        status_meaning=payment_status(query.get("status")),
        message=query.get("message", "")[:_TEXT_LENGTH],
        bic=bic,
        known=known,
        known_meaning=payment_status(known.status) if known else "",
    )


def _payment_headline(payment_id: str, known: StatusResult | None) -> str:
    if not payment_id:
        return "The bank sends people back here after a payment"
    if known is None or known.outcome == "unknown":
        return "Payment not confirmed by the bank"
    return "Payment not accepted by the bank" if known.outcome else payment_headline(known.status)


def _end_consent_page(visit: Visit, journey: Journey) -> Response:
    client = _journey_client(visit, journey)
    return question_page(
        visit,
        end_consent_question(journey.client_title, journey.bank_name),
        _CALLBACK,
        {"state": journey.state, "action": "end"},
        back=visit.link(_CALLBACK, state=journey.state),
        has_secret=client is not None and client.has_secret,
        referrer=NO_REFERRER,
    )


def _find_journey(visit: Visit, query: Mapping[str, str]) -> Journey | None:
    return visit.website.journeys.find(visit.user, query.get("state", ""))


def _stage_answer(visit: Visit, query: Mapping[str, str]) -> Response:
    """Return the stage of the user's own journey as JSON. For other users' journeys, return 404."""
    journey = _find_journey(visit, query) if visit.email is not None else None
    if journey is None:
        return json_answer({"state": None}, 404)
    return json_answer({"state": _check_consent(visit, journey).stage})


def _check_consent(visit: Visit, journey: Journey) -> Journey:
    return journey if visit.incoming.is_head else visit.website.call(check_consent, journey)


def _journey_page(visit: Visit, journey: Journey | None, problem: str = "", status: int = 200) -> Response:
    if journey is None:
        return message_page(
            visit,
            "No such journey",
            "You started no authorization with this state, or did so more than 30 days ago.",
            "/authorize",
            "Authorize",
            "Start a new one.",
        )
    now = visit.website.shared.clock.time()
    client = _journey_client(visit, journey)
    secrets = visit.website.journeys.unseal_secrets(journey)
    return page(
        visit,
        "journey.html",
        status=status,
        referrer=NO_REFERRER,
        journey=journey,
        steps=_journey_steps(journey),
        secrets=secrets,
        calls=_journey_calls(visit, journey, client, secrets) if client else {},
        end_reason=END_REASONS.get(journey.ended_by or "", ""),
        client=client,
        has_secret=client is not None and client.has_secret,
        stuck=journey.is_interrupted(now),
        left=max((journey.access_valid_until or 0) - now, 0),
        advice=return_advice(journey.error) if journey.error else "",
        problem=problem,
    )


def _journey_steps(journey: Journey) -> list[tuple[str, int | None]]:
    """The steps of a journey in order, each with its time, which is ``None`` for a future step."""
    times = "once" if journey.refreshes == 1 else f"{journey.refreshes} times"
    returned = "without a consent" if journey.error else "with a code"
    steps = [
        ("POST /tpp/authorize returned the bank's URL", journey.begun_at),
        (f"The bank sent the browser back {returned}", journey.returned_at),
        ("POST /tpp/token exchanged the code for tokens", journey.exchanged_at),
        (f"POST /tpp/token refreshed them {times}", journey.refreshed_at),
        ("The consent ended, or was found to have ended", journey.ended_at),
    ]
    expected = 2 if journey.error else 3
    return [(label, at) for number, (label, at) in enumerate(steps) if at or number < expected]


def _journey_calls(
    visit: Visit, journey: Journey, client: Client, secrets: Mapping[str, str]
) -> Mapping[str, Sequence[SampleCall]]:
    """Return the calls of a journey: the calls already ``made``, and the possible ``next`` calls."""
    if "code" not in secrets:
        return {}
    base = visit.website.shared.settings.public_url
    exchange = call_samples.exchange_call(base, client, journey, secrets)
    if journey.stage == "code":
        return {"next": [exchange]}
    refreshed = call_samples.latest_refresh_call(base, client, secrets)
    made = [exchange, refreshed] if refreshed else [exchange]
    if journey.stage == "tokens":
        refresh = call_samples.next_refresh_call(base, client, secrets)
        return {"made": made, "next": [refresh, call_samples.revoke_call(base, client, secrets, is_done=False)]}
    if journey.ended_by == "user":
        made.append(call_samples.revoke_call(base, client, secrets, is_done=True))
    return {"made": made}


def _journey_client(visit: Visit, journey: Journey) -> Client | None:
    try:
        return visit.website.openbanking.clients.get(journey.client_id, journey.owner)
    except UnknownClient:
        return None


def _stranger_page(visit: Visit, query: dict[str, str]) -> Response:
    code = query.get("authorization_code") or query.get("code") or ""
    return page(
        visit,
        "callback.html",
        referrer=NO_REFERRER,
        code=code if OpaqueToken.parse(code, parts=1) else None,  # the URL can be forged; this excludes quotes
        state=query.get("state"),
        error=query.get("error"),
        description=query.get("error_description", "")[:_TEXT_LENGTH],
        advice=return_advice(query.get("error", "")),
        lifetime=visit.website.shared.settings.code_lifetime,
    )
