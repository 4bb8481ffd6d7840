"""Dispatch of card API requests, from request body to response envelope.

JSON, credentials, their limit of calls, action, version, access and fields are checked in this order,
based on the action table. A flow then decides, and its writes share one transaction with the claim of the request
reference. If another request used the same reference or changed the same record first, the
transaction's conditions fail: the request then gets the stored response, or is decided again on the
current data.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import partial
from itertools import count
from typing import Any

from chalicelib.cards.events.card_events import CardEvents
from chalicelib.cards.programs.credential_limits import CredentialLimits
from chalicelib.cards.programs.credentials import Credential, Credentials
from chalicelib.cards.programs.programmes import EntryGone, Programmes
from chalicelib.cards.protocol.card_records import ANSWERED
from chalicelib.cards.protocol.message import Request
from chalicelib.cards.protocol.status_codes import Refused, Status, unknown_action
from chalicelib.cards.protocol.values import API_VERSION
from chalicelib.cards.requests import disclosure, envelope
from chalicelib.cards.requests.action import Action, Handler
from chalicelib.cards.requests.envelope import Answer
from chalicelib.cards.requests.idempotency import IdempotencyClaim, Repeated, RequestReferences, Unanswered
from chalicelib.cards.requests.own_writes import is_own, was_written
from chalicelib.cards.requests.request_context import Outcome, RefusedWith, RequestContext
from chalicelib.cards.storage.hot_key_queue import HotKeyQueues, QueuePlace
from chalicelib.cards.storage.reserved_rows import RowReservation
from chalicelib.delivery.outbox import RecordedDeliveries
from chalicelib.foundation import jsontext, log
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.dynamodb.store import (
    AnswerLost,
    ConditionFailed,
    Conflict,
    Operation,
    Put,
    Store,
    StoreError,
)
from chalicelib.foundation.identifiers import new_id
from chalicelib.foundation.lazy_dataclasses import dataclass

BODY_BYTES = 1_000_000
WAITING_SECONDS = 5
"""Seconds that a repeat waits for the first request's response."""
_ATTEMPTS = 40
_GRACE_SECONDS = 1
"""Seconds that a late request may take to finish."""
_LOOKS = 30
_OUTCOME_UNKNOWN = (
    "storage did not answer: it is not known whether the request was carried out; "
    "it is safe to repeat it with the same request_reference_id"
)
_LEVELS = ("access_level", "holder_access_level")
_REFERENCE = re.compile("[A-Za-z0-9-]{10,255}")


class OutcomeUnknown(AnswerLost):
    """Storage did not say whether an outcome was written, and shows nothing of it; it may still be written."""


@dataclass(frozen=True, slots=True)
class _PendingRequest:
    """An authorised request, its claim if it has a reference, its place in queues, and its row's place in a list."""

    credential: Credential
    action: Action
    request: Request
    claim: IdempotencyClaim | None
    queue_place: QueuePlace
    reservation: RowReservation


@dataclass(frozen=True, slots=True)
class _Written:
    """The written outcome: the response, or how to obtain it, and its events."""

    answer: str | Callable[[], str]
    deliveries: RecordedDeliveries = field(default_factory=RecordedDeliveries)


@dataclass(frozen=True, slots=True)
class Dispatcher:
    """Carries out requests; ``flows`` are the objects that have the methods of ``actions``.

    ``elsewhere`` maps actions of other URLs to a hint on where to call them.
    """

    store: Store
    clock: Clock
    credentials: Credentials
    limits: CredentialLimits
    programmes: Programmes
    references: RequestReferences
    events: CardEvents
    flows: Sequence[object]
    actions: Mapping[str, Action]
    elsewhere: Mapping[str, str]
    new_reservation: Callable[[], RowReservation]
    _methods: dict[Handler[Any], Callable[[Request, RequestContext], Outcome[Any]]] = field(default_factory=dict)
    _queues: HotKeyQueues = field(default_factory=HotKeyQueues)

    def answer(self, body: bytes) -> Answer:
        """The response to a request body."""
        came = self.clock.monotonic()

        def answer() -> str:
            members = _parse(body)
            credential = self._credential(members)
            self.limits.admit(credential)
            return self._answer(credential, members, came)

        return _answer_or_error(answer)

    def answer_internally(self, credential: Credential, members: Mapping[str, Any]) -> str:
        """The envelope for a request of the service itself, with a trusted credential (see ``portal``)."""
        came = self.clock.monotonic()
        return _answer_or_error(lambda: self._answer(credential, members, came)).text

    # -- internals

    def _answer(self, credential: Credential, members: Mapping[str, Any], came: float) -> str:
        action = self._action(members)
        reference = _reference(members)
        _check_access(credential, action, members)
        request = action.request.read_fields(members)
        claim = self._claim(credential, action, request, reference) if reference is not None else None
        log.bind(action=action.name, credential=credential.identity)
        until = came + action.patience
        try:
            return self._carry_out(credential, action, request, claim, until)
        except Repeated as repeated:
            if repeated.answer is None:  # only the claim of a reveal is kept
                return envelope.mark_as_repeat(self._carry_out(credential, action, request, None, until))
            answer = envelope.remove_expiry(repeated.answer) if repeated.other_view else repeated.answer
            _audit(credential, request, jsontext.loads(answer).get("data"))
            return envelope.mark_as_repeat(answer)

    def _credential(self, members: Mapping[str, Any]) -> Credential:
        parts = (members.get(name) for name in ("access_key", "access_api_id", "access_api_key"))
        credential = self.credentials.check(*parts)
        if credential is None:
            raise Refused(Status.WRONG_CREDENTIALS)
        return credential

    def _action(self, members: Mapping[str, Any]) -> Action:
        name = members.get("action")
        if not isinstance(name, str):
            raise Refused(Status.UNKNOWN_ACTION)
        if name not in self.actions:
            raise Refused(Status.UNKNOWN_ACTION, unknown_action(name, self.actions, self.elsewhere))
        return self.actions[name]

    def _claim(self, credential: Credential, action: Action, request: Request, reference: str) -> IdempotencyClaim:
        meaning = [action.name, sorted(request.members().items()), request.nulls]
        body = jsontext.dumps(meaning)
        view = jsontext.dumps([sorted(credential.modes.items()), credential.encryption_key]) if action.seals else None
        return self.references.claim(credential.identity, reference, body, view=view, attempt=new_id())

    def _carry_out(
        self, credential: Credential, action: Action, request: Request, claim: IdempotencyClaim | None, until: float
    ) -> str:
        """Decide and write, with retries after conflicts. Raises: Refused, Repeated, StoreError."""
        queue_place = QueuePlace(self._queues, self.clock, until)
        reservation = self.new_reservation()
        try:
            written = self._retry(_PendingRequest(credential, action, request, claim, queue_place, reservation))
        except (Refused, Repeated):
            reservation.release()
            raise
        finally:
            queue_place.leave()
        self.events.dispatch(written.deliveries)
        return written.answer if isinstance(written.answer, str) else written.answer()

    def _retry(self, pending: _PendingRequest) -> _Written:
        """Attempt until an outcome is written. Raises: Refused, Repeated, StoreError."""
        started = self.clock.time()
        for attempt in count():
            if attempt >= _ATTEMPTS:
                pending.queue_place.stop_waiting()
            context = self._context(pending)
            try:
                return self._attempt(pending, context)
            except (ConditionFailed, EntryGone, Conflict) as failure:
                self._wait(pending, attempt, failure)
            except Unanswered:
                if attempt + 1 >= _LOOKS or self.clock.time() >= started + WAITING_SECONDS:
                    raise Repeated(envelope.error(Refused(Status.IN_PROGRESS))) from None
                pending.queue_place.leave()
                self.store.wait(4)
        raise AssertionError("unreachable")

    def _wait(self, pending: _PendingRequest, attempt: int, failure: Exception) -> None:
        """Wait for the next attempt; the last attempts end a late request. Raises: Refused, if none is left."""
        place, is_last = pending.queue_place, pending.queue_place.is_over or attempt + 1 >= _ATTEMPTS
        is_given_up = place.has_stopped and (place.seconds_left <= -_GRACE_SECONDS or attempt + 1 >= 2 * _ATTEMPTS)
        if is_last and (pending.action.late is None or is_given_up):
            raise Refused(Status.CONFLICT) from None
        if not is_last and (place.lost_turns or not isinstance(failure, ConditionFailed)):
            self.store.wait(min(attempt + 2, 6), place.seconds_left)

    def _context(self, pending: _PendingRequest) -> RequestContext:
        credential, action = pending.credential, pending.action
        level = credential.access_level
        if pending.request.access_level is not None and not action.creates:
            level = pending.request.access_level
        return RequestContext(
            store=self.store,
            references=self.references,
            action=action.name,
            is_write=action.effect == "write",
            credential=credential,
            catalogue=self.programmes.catalogue(credential.manager_id),
            level=level,
            clock=self.clock,
            queue_place=pending.queue_place,
            reservation=pending.reservation,
            claim=pending.claim,
        )

    def _attempt(self, pending: _PendingRequest, context: RequestContext) -> _Written:
        """Decide and write once.

        Raises: ConditionFailed, EntryGone, Conflict, if another request came first; Unanswered.
        """
        try:
            outcome = self._decide(pending, context)
        except Refused as refusal:
            context.reservation.release()
            answer = envelope.error(refusal)
            counted = refusal.operations if isinstance(refusal, RefusedWith) else ()
            if refusal.status.is_kept:
                self._write(pending, context, counted, answer, None)
            elif context.claim is not None and not context.has_read_claim:
                self._check_repeat(context.claim, context.now)  # a repeat comes before what is wrong with it now
            return _Written(answer)
        self.programmes.mark_used(context.catalogue, outcome.uses)
        deliveries = self.events.record(context.manager_id, outcome.events)
        operations = [*outcome.operations, *deliveries.operations]
        if outcome.asks is not None:
            self._write(pending, context, operations, None, None)
            return _Written(outcome.asks, deliveries)
        answer = envelope.success(outcome.data, outcome.beside)
        kept, whole = answer, None
        if pending.action.seals and context.claim is not None:
            kept, whole = envelope.success(envelope.remove_card_data(outcome.data or {}), {}), answer
        self._write(pending, context, operations, kept, whole)
        _audit(pending.credential, pending.request, outcome.data)
        return _Written(answer, deliveries)

    def _decide(self, pending: _PendingRequest, context: RequestContext) -> Outcome[Any]:
        """The flow's decision, or its outcome for a late action. Raises: Refused."""
        place, late = pending.queue_place, pending.action.late
        if late is None or not place.is_over:
            outcome = self._method(pending.action.handler)(pending.request, context)
            if late is None or not place.is_over:
                return outcome
        place.stop_waiting()
        return self._method(late)(pending.request, context)

    def _write(
        self,
        pending: _PendingRequest,
        context: RequestContext,
        operations: Sequence[Operation],
        answer: str | None,
        whole: str | None,
    ) -> None:
        """Write the decision with the claim; without a response yet, the claim is left pending.

        Raises:
            Repeated, Refused: another request used the reference first.
            ConditionFailed, Conflict: a record has changed.
            OutcomeUnknown: storage did not say whether it was written.
        """
        claim, all_operations = context.claim, [*operations]
        if claim is not None:
            if answer is None:
                claiming = [self.references.put_claim(claim, context.now)]
            else:
                kept = None if pending.action.effect == "reveal" else answer
                claiming = self.references.put_answer(claim, kept, whole, context.now)
            if not operations:
                return self._claim_alone(claim, context.now, claiming[0])
            all_operations = [*claiming, *operations]
        return self._transact(pending, context, all_operations) if all_operations else None

    def _transact(self, pending: _PendingRequest, context: RequestContext, operations: Sequence[Operation]) -> None:
        """Write a transaction; if there is a claim, it is the first operation. Raises: as ``_write``."""
        claim = context.claim
        try:
            self.store.transact(operations)
        except ConditionFailed as failure:
            if claim is not None and 0 in failure.failed:
                self._check_repeat(claim, context.now)
            if not (failure.repeated and is_own(context, failure)):
                if claim is None or 0 not in failure.failed:  # nobody queues for claims
                    pending.queue_place.queue_for(operations[failure.failed[0]])
                raise
        except AnswerLost as failure:
            if not was_written(context, operations):
                raise OutcomeUnknown(str(failure)) from failure

    def _claim_alone(self, claim: IdempotencyClaim, now: int, put: Put) -> None:
        """Claim a reference without other writes."""
        try:
            self.store.put(put.table, put.item, put.condition)
        except ConditionFailed:
            self._check_repeat(claim, now)
            raise

    def _check_repeat(self, claim: IdempotencyClaim, now: int) -> None:
        self.references.check_repeat(claim, self.store.batch_get(self.references.keys(claim)), now)

    def _method(self, handler: Handler[Any]) -> Callable[[Request, RequestContext], Outcome[Any]]:
        """The bound method of the flow that defines this handler."""
        method = self._methods.get(handler)
        if method is None:
            flow = next(flow for flow in self.flows if getattr(type(flow), handler.__name__, None) is handler)
            method = self._methods[handler] = partial(handler, flow)
        return method


def _answer_or_error(answer: Callable[[], str]) -> Answer:
    """The response, for success or error."""
    try:
        return Answer(answer())
    except Refused as refusal:
        return Answer(envelope.error(refusal), refusal.retry_after)
    except OutcomeUnknown:
        log.exception("outcome unknown")
        return Answer(envelope.error(Refused(Status.INTERNAL, _OUTCOME_UNKNOWN)))
    except StoreError:
        log.exception("storage did not respond")
    except Exception:
        log.exception("failed")
    return Answer(envelope.error(Refused(Status.INTERNAL)))


def _parse(body: bytes) -> dict[str, Any]:
    """Raises: Refused."""
    if len(body) > BODY_BYTES:
        raise Refused(Status.TOO_LARGE)
    try:
        members = jsontext.loads(body)
    except jsontext.InvalidJson as error:
        raise Refused(Status.NOT_JSON, f"the body is not valid JSON: {error}") from None
    if not isinstance(members, dict):
        raise Refused(Status.NOT_JSON)
    return members


def _reference(members: Mapping[str, Any]) -> str | None:
    """The reference of a request, in the correct version. Raises: Refused."""
    if str(members.get("api_version")) != API_VERSION:
        raise Refused(Status.WRONG_VERSION)
    reference = members.get("request_reference_id")
    if reference is None:
        return None
    if not isinstance(reference, str) or not _REFERENCE.fullmatch(reference):
        raise Refused(
            Status.BAD_REFERENCE, "request_reference_id must have 10 to 255 characters: letters, digits and hyphens"
        )
    return reference


def _check_access(credential: Credential, action: Action, members: Mapping[str, Any]) -> None:
    """Check a request against the credential's access level, actions and modes. Raises: Refused."""
    for name in _LEVELS if "holder_id" not in members and action.creates else _LEVELS[:1]:
        asked = str(members.get(name, ""))
        if asked.isascii() and asked.isdigit() and int(asked[:20]) > credential.access_level:
            raise Refused(Status.LEVEL_TOO_HIGH, f"{name} is higher than the credential's")
    if not credential.allows(action.name):
        raise Refused(Status.NOT_ALLOWED, "the credential does not allow this action")
    if action.field is not None and disclosure.is_absent(credential, action.field):
        raise Refused(Status.NOT_ALLOWED, f"the credential may not read {action.field}")


def _audit(credential: Credential, request: Any, data: Any) -> None:
    """Write an audit log line for each card datum in a response."""
    if not isinstance(data, dict):
        return
    for member, field_shown in ANSWERED.items():
        if data.get(member):
            disclosure.audit_reveal(credential, data.get("card_id") or request.card_id, field_shown)
