"""Dispatch of card API requests, from request body to response envelope.

The dispatcher checks JSON, credentials, call limit, action, version, access and fields, in this order, based on the
action table. The action's handler then decides on the request. The handler's writes share one transaction with the
claim of the request reference. If another request used the same reference or changed the same record first, the
transaction's conditions fail. The request then gets the stored response, or is decided again on the current data.

A request with a deadline set by the card network gets a response within 3 seconds, even if storage is slow. If no
decision is made in time, the dispatcher tries for a short time to record a late outcome. If storage accepts neither
outcome, the response is sent, and a task makes a worker record the outcome. If storage's response to an attempt was
lost, the attempt may have been written, or may be written later.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, field, replace
from functools import partial
from typing import Any, TypeVar

from chalicelib.cards.events.card_events import record_events
from chalicelib.cards.programs.credentials import Credential, CredentialLimits, Credentials
from chalicelib.cards.programs.programmes import Programmes
from chalicelib.cards.protocol.card_records import ANSWERED
from chalicelib.cards.protocol.message import Request
from chalicelib.cards.protocol.status_codes import Refused, Status, unknown_action
from chalicelib.cards.requests import disclosure, envelope
from chalicelib.cards.requests.action import Action, PendingRequest, RequestRetry, Response, Undecided
from chalicelib.cards.requests.envelope import Answer, IdempotencyClaim, Repeated, RequestReferences
from chalicelib.cards.requests.request_context import (
    ActionOutcome,
    HotKeyQueues,
    ProviderCall,
    QueuePlace,
    RefusedWith,
    RequestContext,
    UnrecordedAnswer,
)
from chalicelib.cards.storage.record import proof_of
from chalicelib.cards.storage.reserved_rows import ReservedRow, RowReservation
from chalicelib.delivery.outbox import Outbox
from chalicelib.delivery.tasks import Tasks
from chalicelib.foundation import jsontext, log, security_refusals
from chalicelib.foundation.aws.errors import AwsError
from chalicelib.foundation.clock import Clock, milliseconds
from chalicelib.foundation.context import tight_deadline
from chalicelib.foundation.dynamodb.store import Operation, Store, StoreError
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.metrics import Metrics
from chalicelib.foundation.requests.engine import Engine, OutcomeUnknown
from chalicelib.foundation.requests.facts import Facts
from chalicelib.foundation.requests.outcome import NO_DELIVERIES, Deliveries, Outcome, Proof
from chalicelib.foundation.wiring import Call

Decided = Outcome[Response]
T = TypeVar("T")
RECORD_SECONDS, ANSWER_SECONDS = 0.4, 0.75
"""The numbers of seconds after the action's patience until which the late outcome may be recorded and the response is
sent.

The time between these limits is for queueing the task.
"""
_LEVELS = ("access_level", "holder_access_level")
_OUTCOME_UNKNOWN = (
    "storage did not answer: it is not known whether the request was carried out; "
    "it is safe to repeat it with the same request_reference_id"
)


@dataclass(frozen=True, slots=True)
class Dispatcher:
    """The dispatcher of card API requests. ``call`` passes the further parameters of an action's functions by name.

    ``elsewhere`` maps actions of other URLs to a hint that contains the correct URL.
    """

    store: Store
    engine: Engine
    clock: Clock
    credentials: Credentials
    credential_limits: CredentialLimits
    programmes: Programmes
    references: RequestReferences
    outbox: Outbox
    tasks: Tasks
    metrics: Metrics
    new_reservation: Callable[[], RowReservation]
    call: Call
    actions: Mapping[str, Action]
    elsewhere: Mapping[str, str]
    _queues: HotKeyQueues = field(default_factory=HotKeyQueues)

    def answer(self, body: bytes) -> Answer:
        """Return the response to a request body."""
        came = self.clock.monotonic()
        return _answer_or_error(lambda: self._answer_in_time(envelope.parse(body), came))

    def answer_internally(self, credential: Credential, members: Mapping[str, Any]) -> str:
        """Carry out a request that the service itself makes with a trusted credential (see ``portal``). Return the
        envelope.
        """
        came = self.clock.monotonic()
        return _answer_or_error(lambda: self._answer_in_time(members, came, credential)).text

    # -- internals

    def _answer_in_time(self, members: Mapping[str, Any], came: float, trusted: Credential | None = None) -> str:
        """Respond to a request within its action's time limit, if any. ``came`` is the request's arrival time on the
        monotonic clock.

        If the caller and the reference remain unknown, no data was written and no outcome is recorded.
        """
        name = members.get("action")
        action = self.actions.get(name) if isinstance(name, str) else None
        if action is None or action.late is None:
            return self._answer(members, action, came, trusted)
        until = came + action.patience + ANSWER_SECONDS
        answer = self._try_until(until, lambda: self._answer(members, action, came, trusted))
        if answer is not None:
            return answer
        self.metrics.write({"UnrecordedDeclines": 1})
        unrecorded = self._unrecorded_answer(action, action.request.read_fields(members), None)
        return envelope.success(unrecorded.data, {})

    def _answer(
        self, members: Mapping[str, Any], action: Action | None, came: float, trusted: Credential | None
    ) -> str:
        credential = trusted or self._admit(members)
        if action is None:
            name = members.get("action")
            hint = unknown_action(name, self.actions, self.elsewhere) if isinstance(name, str) else ""
            raise Refused(Status.UNKNOWN_ACTION, hint)
        log.bind(action=action.name, credential=credential.identity)
        reference = envelope.read_reference(members)
        _check_access(credential, action, members)
        request = action.request.read_fields(members)
        claim = None
        if reference is not None:
            claim = self.references.claim(credential, reference, action.name, request, seals=action.seals)
        try:
            return self._carry_out(credential, action, request, claim, came)
        except Repeated as repeated:
            if repeated.answer is None:  # only the claim of a reveal is kept
                return envelope.mark_as_repeat(self._carry_out(credential, action, request, None, came))
            answer = envelope.remove_expiry(repeated.answer) if repeated.other_view else repeated.answer
            _audit(credential, request, jsontext.loads(answer).get("data"))
            envelope.log_repeat(answer)
            return envelope.mark_as_repeat(answer)

    def _admit(self, members: Mapping[str, Any]) -> Credential:
        parts = (members.get(name) for name in ("access_key", "access_api_id", "access_api_key"))
        credential = self.credentials.check(*parts)
        if credential is None:
            security_refusals.record(
                "wrong_card_credentials", "credentials refused", reason="a key is missing or wrong"
            )
            raise Refused(Status.WRONG_CREDENTIALS)
        self.credential_limits.admit(credential)
        return credential

    def _carry_out(
        self, credential: Credential, action: Action, request: Request, claim: IdempotencyClaim | None, came: float
    ) -> str:
        """Decide a request and write the outcome. Retry after conflicts. Raises: Refused, Repeated, StoreError."""
        queue_place = QueuePlace(self._queues, self.clock, came + action.patience)
        reservation = self.new_reservation()
        now = self.clock.time()
        level = credential.access_level
        if request.access_level is not None and not action.creates:
            level = request.access_level
        pending = PendingRequest(
            credential, action, request, claim, queue_place, reservation, level, action.handler, now
        )
        try:
            decided = self._retry(pending) if action.late is None else self._retry_in_time(pending, came)
        except (Refused, Repeated):
            reservation.release()
            raise
        finally:
            queue_place.leave()
        answer = self.engine.finish(decided)
        return answer if isinstance(answer, str) else answer()

    def _retry_in_time(self, pending: PendingRequest, came: float) -> Decided:
        """Decide a request in time, record the late outcome, or queue a task for a worker. Raises: Refused,
        Repeated.
        """
        until = came + pending.action.patience
        decided = self._try_until(until, lambda: self._retry(pending))
        if decided is None:
            assert pending.action.late is not None
            pending.queue_place.stop_waiting()
            late = replace(pending, handler=pending.action.late, is_late=True)
            decided = self._try_until(until + RECORD_SECONDS, lambda: self._retry(late))
        return decided or Outcome(self._leave_to_worker(pending))

    def _try_until(self, until: float, action: Callable[[], T]) -> T | None:
        try:
            with tight_deadline(self.clock.monotonic, until):
                return action()
        except Undecided:
            return None
        except (StoreError, TimeoutError, AwsError):
            log.exception("storage did not respond")
            return None

    def _leave_to_worker(self, pending: PendingRequest) -> str:
        """Queue a task that makes a worker record the outcome. Return the late response or the unrecorded response."""
        unrecorded = self._unrecorded_answer(pending.action, pending.request, pending.reservation.made)
        answer = [envelope.success(unrecorded.data, {}), *pending.late_answers][-1]
        caller = {
            "manager_id": pending.credential.manager_id,
            "level": pending.level,
            "claim": pending.claim and asdict(pending.claim),
            "asked_at": pending.asked_at,
            "answer": answer,
        }
        try:
            self.tasks.send(unrecorded.task, jsontext.dumps({**unrecorded.members(), **caller}))
        except Exception:  # the caller is answered in any case
            log.exception("decline not queued", authorization=unrecorded.number)
            self.metrics.write({"UnrecordedDeclines": 1})
        else:
            log.warning("decline left to a worker", authorization=unrecorded.number)
        return answer

    def _retry(self, pending: PendingRequest) -> Decided:
        """Retry until an outcome is written. Raises: Refused, Repeated, StoreError, Undecided."""
        retry = RequestRetry(pending, self.engine, self.clock, self.clock.time())
        assumed = [pending.claim.key] if pending.claim else []  # hardly any request is a repeat
        facts = Facts(assumed, [None for _ in assumed])
        try:
            return self.engine.write(partial(self.decide, pending), facts, retry, attempts=pending.attempts)
        except Repeated as repeated:
            if (own := pending.answered_attempt(repeated)) is None:
                raise
            return own

    def decide(self, pending: PendingRequest, facts: Facts) -> Decided:
        """Decide a request. Return the response and the writes.

        Raises: EntryGone, Unanswered, Undecided. Also raises Repeated or Refused, if another request used the reference
        first.
        """
        credential, action = pending.credential, pending.action
        context = RequestContext(
            store=self.store,
            references=self.references,
            action=action.name,
            is_write=action.effect == "write",
            credential=credential,
            manager_id=credential.manager_id,
            catalogue=self.programmes.catalogue(credential.manager_id),
            level=pending.level,
            at=milliseconds(self.clock),
            clock=self.clock,
            queue_place=pending.queue_place,
            reservation=pending.reservation,
            claim=pending.claim,
        )
        if context.claim is not None:
            self.references.check_repeat(context.claim, facts)
        try:
            outcome: ActionOutcome[Any] = self.call(pending.handler, pending.request, context)
        except Refused as refusal:
            return self._refuse(pending, context, refusal)
        if action.late is not None and not pending.is_late and pending.queue_place.is_over:
            raise Undecided
        self.programmes.mark_used(context.catalogue, outcome.uses)
        deliveries = record_events(context.manager_id, outcome.events, self.outbox, self.programmes, self.clock.time())
        if outcome.provider_call is not None:
            answer_of = partial(self._answer_of_provider, outcome.provider_call)
            return self._outcome(pending, context, answer_of, outcome.operations, deliveries)
        answer, whole = envelope.success(outcome.data, outcome.beside), None
        pending.late_answers.extend([answer] if pending.is_late else [])
        stored = answer
        if action.seals and context.claim is not None:
            stored, whole = envelope.success(envelope.remove_card_data(outcome.data or {}), {}), answer
        decided = self._outcome(pending, context, answer, outcome.operations, deliveries, stored, whole)
        return replace(decided, report=lambda: _audit(credential, pending.request, outcome.data))

    def _refuse(self, pending: PendingRequest, context: RequestContext, refusal: Refused) -> Decided:
        """Return a refusal. The refusal is stored if its status is one of the stored statuses.

        A duplicate request gets the stored refusal without another validation.
        """
        context.reservation.release()
        answer: Response = envelope.error(refusal)
        if refusal.status.is_stored:
            counted = refusal.operations if isinstance(refusal, RefusedWith) else ()
            decided = self._outcome(pending, context, answer, counted, stored=envelope.error(refusal))
        else:
            if context.claim is not None and not context.has_read_claim:
                self.references.check_repeat(context.claim, self.engine.read(context.claim.keys))
            decided = Outcome(answer)
        return replace(decided, report=lambda: envelope.log_refusal(refusal))

    def _outcome(
        self,
        pending: PendingRequest,
        context: RequestContext,
        answer: Response,
        operations: Sequence[Operation],
        deliveries: Deliveries = NO_DELIVERIES,
        stored: str | None = None,
        whole: str | None = None,
    ) -> Decided:
        """Return the outcome with the claim as its first write. If there is no response to store yet, the claim is
        pending.
        """
        claim = context.claim
        if claim is None:
            return Outcome(answer, operations, deliveries, proof_of(operations, context.write_id))
        if stored is None:
            claiming = [self.references.put_claim(claim)]
        else:
            answered = None if pending.action.effect == "reveal" else stored
            claiming = self.references.put_answer(claim, answered, whole, context.now)
        sealed = claiming[0].item.get("answer")
        proof = Proof([claim.key], lambda stored: stored.get("answer") == sealed)  # each attempt seals it anew
        if sealed is None:
            proof = proof_of(operations, context.write_id)
        return Outcome(answer, [*claiming, *operations], deliveries, proof)

    def _unrecorded_answer(self, action: Action, request: Request, reserved: ReservedRow | None) -> UnrecordedAnswer:
        assert action.unrecorded is not None
        answer: UnrecordedAnswer = self.call(action.unrecorded, request, reserved)
        return answer

    def _answer_of_provider(self, asked: ProviderCall) -> str:
        """Return the response after the provider has replied. Call this function at most once. Raises: Refused,
        StoreError.
        """
        reply = self.call(asked.call, asked.record)
        answer: str = self.call(asked.record_reply, asked.record, reply)
        return answer


def _answer_or_error(answer: Callable[[], str]) -> Answer:
    try:
        return Answer(answer())
    except Refused as error:
        refusal = error
    except StoreError as error:
        if isinstance(error, OutcomeUnknown):
            log.exception("outcome unknown")
            refusal = Refused(Status.INTERNAL, _OUTCOME_UNKNOWN)
        else:
            log.exception("storage did not respond")
            refusal = Refused(Status.INTERNAL)
    except Exception:
        log.exception("failed")
        refusal = Refused(Status.INTERNAL)
    envelope.log_refusal(refusal)
    return Answer(envelope.error(refusal), refusal.retry_after)


def _check_access(credential: Credential, action: Action, members: Mapping[str, Any]) -> None:
    for name in _LEVELS if "holder_id" not in members and action.creates else _LEVELS[:1]:
        asked = str(members.get(name, ""))
        if asked.isascii() and asked.isdigit() and int(asked[:20]) > credential.access_level:
            raise Refused(Status.LEVEL_TOO_HIGH, f"{name} is higher than the credential's")
    if not credential.allows(action.name):
        raise Refused(Status.NOT_ALLOWED, "the credential does not allow this action")
    if action.field is not None and disclosure.is_absent(credential, action.field):
        raise Refused(Status.NOT_ALLOWED, f"the credential may not read {action.field}")


def _audit(credential: Credential, request: Any, data: Any) -> None:
    if not isinstance(data, dict):
        return
    for member, field_shown in ANSWERED.items():
        if data.get(member):
            disclosure.audit_reveal(credential, data.get("card_id") or request.card_id, field_shown)
