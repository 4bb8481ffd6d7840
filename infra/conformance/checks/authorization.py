"""Checks of the authorization flow: consent, refusal, and the end of a consent at the bank."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import parse_qsl, urlsplit

from chalicelib.openbanking.protocol.errors import Fault
from chalicelib.openbanking.protocol.version import Version
from infra.conformance import causes
from infra.conformance.check import Check, Level
from infra.conformance.checks.judging import RULES, demand, require_refused
from infra.conformance.checks.spelled_values import has_blanks
from infra.conformance.evidence import CheckBlocked, CheckFailed, CheckSkipped, Evidence
from infra.conformance.hub_state import ReceivedCall
from infra.conformance.session import Attempt, ConsentName, Session
from infra.conformance.subjects import Subject, subjects

FLOW = "Specification, Flows: authorization flow, step {step}"
CODE_SECONDS = 60
"""Lifetime of the code in the callback URL, outside the local stage."""
Run = Callable[[Session], Evidence]


def checks(version: Version) -> list[Check]:
    """Return the checks of consents that the PSU approves or refuses."""
    rows: list[tuple[str, str, str, Level, str, Run]] = [
        (
            "consent.initiated",
            "The bank asks the hub who requests access",
            FLOW.format(step=2),
            "mandatory",
            "init_authorization is called when the PSU reaches the authorization URL",
            _initiated,
        ),
        (
            "consent.request-url",
            "init_authorization and consent name the URL through which the PSU arrived",
            RULES.format(section="Consents"),
            "mandatory",
            "The request URL is the complete authorization URL; escaping and order of its parameters may differ",
            _request_url,
        ),
        (
            "consent.saved",
            "The bank saves the consent that the PSU gives",
            FLOW.format(step=6),
            "mandatory",
            "consent is called after the PSU has approved",
            _saved,
        ),
        (
            "consent.scopes",
            "The consent has exactly the requested scopes",
            FLOW.format(step=5),
            "mandatory",
            "All requested scopes are approved, no more and no fewer",
            _scopes,
        ),
        (
            "consent.accounts",
            "A consent to account scopes names accounts",
            RULES.format(section="Consents"),
            "mandatory",
            "consent has ibans, account_ids or account_numbers",
            _accounts,
        ),
        (
            "consent.accepted",
            "The consent is accepted by the hub",
            FLOW.format(step=6),
            "mandatory",
            "The hub answers consent with success",
            _accepted,
        ),
        (
            "consent.returned",
            "The PSU is redirected to the callback URL of the consent",
            FLOW.format(step=6),
            "mandatory",
            f"The browser arrives at callback_url, unchanged, within {CODE_SECONDS} s: the code in it expires",
            _returned,
        ),
        (
            "consent.known-accounts",
            "The consent names the accounts of the file",
            RULES.format(section="Consents"),
            "advice",
            "Every identifier by which a TPP may request an account is listed",
            _known_accounts,
        ),
        (
            "consent.ibans",
            "The consent has IBANs without blanks",
            RULES.format(section="Consents"),
            "advice",
            "Every entry of ibans has capitals and digits only (ISO 13616)",
            _ibans,
        ),
        (
            "cancel.opened",
            "A PSU who refuses is sent to the cancel URL",
            FLOW.format(step=4),
            "mandatory",
            "The browser opens the cancel_url of init_authorization",
            _cancelled,
        ),
        (
            "cancel.no-consent",
            "A refused consent is not saved",
            FLOW.format(step=4),
            "mandatory",
            "consent is not called after the PSU has refused",
            _not_saved,
        ),
        (
            "cancel.returned",
            "A PSU who refuses comes back to the TPP",
            FLOW.format(step=4),
            "mandatory",
            "The browser follows the redirect of the cancel URL to the callback",
            _cancel_returned,
        ),
        (
            "consent.one-time",
            "A one-time consent permits one payment",
            "Specification, Flows: payment flow, one-time consent",
            "advice",
            "The token of a one-time consent is refused for a second payment",
            _one_time,
        ),
    ]
    return [Check(*row) for row in rows]


def ending_checks(version: Version) -> list[Check]:
    """Return the checks of a consent that the PSU ends at the bank. These checks run last."""
    return [
        Check(
            "end-at-bank.reported",
            "A consent that the PSU ends at the bank is reported",
            "Specification, States and transitions: consent token",
            "mandatory",
            "token/revoke is called with the consent's access token",
            _end_reported,
        ),
        Check(
            "end-at-bank.refused",
            "The token of a consent that the PSU ended is refused",
            "Specification, States and transitions: consent token",
            "mandatory",
            "A webhook with the token is refused with an error",
            _end_refused,
        ),
    ]


# -- consent


def evidence_of(attempt: Attempt, received: ReceivedCall | None = None) -> Evidence:
    """Return the requests and responses of an authorization, by default with the bank's latest call."""
    authorization = attempt.authorization
    found = received or next(reversed([*authorization.initiated, *authorization.saved]), None)
    sent = f"The PSU opened {authorization.request.request_url} to {attempt.decision}."
    if attempt.outcome.text:
        sent += f"\n\nThe PSU's part: {attempt.outcome.text}"
    if found is None:
        return Evidence(sent, "no call of the bank about this request")
    return Evidence(f"{sent}\n\nThe kit answered {found.evidence.sent}", found.evidence.received)


def _why(attempt: Attempt, said: str) -> str:
    return said if attempt.outcome.state == "done" else f"{said}; {attempt.outcome.text.splitlines()[0]}"


def _initiated(session: Session) -> Evidence:
    attempt = session.attempt("main")
    came = any(call.name == "initiate" for call in session.hub.calls)
    question = f"does the bank use {session.bank.public_url} as its hub?"
    return demand(came, evidence_of(attempt), _why(attempt, f"init_authorization was not called: {question}"))


def _request_url(session: Session) -> Evidence:
    attempt = session.attempt("main")
    authorization = attempt.authorization
    for name, matching in (("initiate", authorization.initiated), ("save_consent", authorization.saved)):
        named = [call for call in session.hub.calls if call.name == name and call.request is not None]
        if named and not matching:
            raise CheckFailed(evidence_of(attempt, named[-1]), f"the URL is not {authorization.request.request_url}")
    if not authorization.initiated:
        raise CheckBlocked("no call named a request URL: see consent.initiated")
    return evidence_of(attempt)


def _saved(session: Session) -> Evidence:
    attempt = session.attempt("main")
    _require_initiated(session, attempt)
    came = [call for call in session.hub.calls if call.name == "save_consent"]
    return demand(bool(came), evidence_of(attempt), _why(attempt, "consent was not called"))


def _require_initiated(session: Session, attempt: Attempt) -> None:
    if why := causes.not_initiated(attempt.authorization, session.hub.calls):
        raise CheckBlocked(why)


def _consent_call(session: Session, name: ConsentName = "main") -> tuple[Attempt, ReceivedCall]:
    attempt = session.attempt(name)
    if not attempt.authorization.saved:
        raise CheckBlocked(session.no_consent(name))
    return attempt, attempt.authorization.saved[-1]


def _scopes(session: Session) -> Evidence:
    attempt, call = _consent_call(session)
    wanted, given = sorted(attempt.authorization.request.scopes), sorted(call.request.scopes)
    return demand(given == wanted, evidence_of(attempt, call), f"the scopes are {given}, not {wanted}")


def _accounts(session: Session) -> Evidence:
    attempt, call = _consent_call(session)
    scopes = [session.version.scopes[name] for name in attempt.authorization.request.scopes]
    if not any(scope.needs_accounts for scope in scopes):
        raise CheckSkipped("no account scope was requested")
    request = call.request
    named = bool(request.ibans or request.account_ids or request.account_numbers)
    return demand(named, evidence_of(attempt, call), "no account identifiers are given")


def _accepted(session: Session) -> Evidence:
    attempt, call = _consent_call(session)
    if call.refusal is not None and not attempt.authorization.token and call.refusal.fault in _EXPLAINED:
        raise CheckBlocked(causes.refused(call))
    said = call.refusal.message if call.refusal else ""
    return demand(bool(attempt.authorization.token), evidence_of(attempt, call), f"the hub refused: {said}")


_EXPLAINED = (*causes.ABOUT_THE_CALLER, Fault.WRONG_SCOPES, Fault.SCOPES_NOT_CORRECT, Fault.ACCOUNTS_MISSING)
"""Faults of the consent call that are reported by separate checks."""


def _returned(session: Session) -> Evidence:
    attempt = session.attempt("main")
    authorization = attempt.authorization
    if not authorization.token:
        raise CheckBlocked(session.no_consent("main"))
    if not authorization.arrivals:
        raise CheckFailed(evidence_of(attempt), _why(attempt, "the browser did not arrive at the callback URL"))
    wanted = dict(parse_qsl(urlsplit(authorization.callback_url).query))
    given = authorization.arrivals[0]
    changed = sorted(name for name, value in wanted.items() if given.get(name) != value)
    if changed:
        raise CheckFailed(evidence_of(attempt), f"the callback URL was changed: {', '.join(changed)}")
    if attempt.outcome.state == "failed":
        raise CheckFailed(evidence_of(attempt), attempt.outcome.text)
    return evidence_of(attempt)


def _known_accounts(session: Session) -> Evidence:
    attempt, call = _consent_call(session)
    request, problems = call.request, []
    ibans = request.ibans or ()
    for account in session.bank.accounts:
        if account.iban and ibans and account.iban not in ibans:
            problems.append("an IBAN of customer.accounts is not in ibans")
        if account.account_id and request.account_ids and account.account_id not in request.account_ids:
            problems.append("an account_id of customer.accounts is not in account_ids")
    return demand(not problems, evidence_of(attempt, call), "; ".join(problems))


def _ibans(session: Session) -> Evidence:
    attempt, call = _consent_call(session)
    ibans = call.members.get("ibans") if isinstance(call.members, dict) else None
    listed = ibans if isinstance(ibans, list) else []
    wrong = [f"ibans.{position}" for position, iban in enumerate(listed) if has_blanks(iban)]
    return demand(not wrong, evidence_of(attempt, call), f"{', '.join(wrong)}: blanks or small letters")


# -- refusal


def _cancelled(session: Session) -> Evidence:
    attempt = session.attempt("refused")
    _require_initiated(session, attempt)
    opened = attempt.authorization.cancelled is not None
    return demand(opened, evidence_of(attempt), _why(attempt, "the cancel URL was not opened"))


def _not_saved(session: Session) -> Evidence:
    attempt = session.attempt("refused")
    _require_initiated(session, attempt)
    return demand(not attempt.authorization.saved, evidence_of(attempt), "consent was called")


def _cancel_returned(session: Session) -> Evidence:
    attempt = session.attempt("refused")
    if attempt.authorization.cancelled is None:
        raise CheckBlocked("the cancel URL was not opened: see cancel.opened")
    came = any("error" in arrival for arrival in attempt.authorization.arrivals)
    return demand(came, evidence_of(attempt), _why(attempt, "the browser did not come back to the TPP"))


# -- one-time consents, and the end of a consent


def _one_time(session: Session) -> Evidence:
    session.scopes_of("one-time")
    subject = next(each for each in _payments(session) if each.webhook.scope_name in session.scopes_of("one-time"))
    first = session.send(subject, token=session.token("one-time"))
    session.read(subject, first)
    session.hub.spent.add(session.token("one-time"))
    return require_refused(session, subject, session.send(subject, token=session.token("one-time")))


def _payments(session: Session) -> list[Subject]:
    found = [each for each in subjects(session).values() if each.role == "payment" and each.webhook.scope]
    offered = [each for each in found if each.webhook.path not in session.bank.not_offered]
    if not offered:
        raise CheckSkipped("not_offered has all payments with a scope")
    return offered


def _end_reported(session: Session) -> Evidence:
    _, received, outcome = session.end_at_bank()
    sent = f"The PSU was asked to end the consent at the bank's own pages. {outcome.text}".strip()
    if received is None:
        said = "token/revoke was not called" if outcome.state == "done" else outcome.text
        raise CheckFailed(Evidence(sent, "no call about this token"), said)
    return Evidence(sent, received.evidence.received)


def _end_refused(session: Session) -> Evidence:
    token, received, _ = session.end_at_bank()
    if received is None:
        raise CheckBlocked("the bank did not report the end of the consent: see end-at-bank.reported")
    for subject in subjects(session).values():
        if subject.role == "data" and subject.webhook.scope_name in session.bank.scopes:
            members = subject.request(session)
            return require_refused(session, subject, session.send(subject, members, token=token))
    raise CheckSkipped("customer.scopes has no scope for data")
