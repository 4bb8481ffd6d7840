"""Dispatch of card API requests, from request body to response envelope.

JSON, credentials, their limit of calls, action, version, access and fields are checked in this order,
based on the action table. A flow then decides, and its writes share one transaction with the claim of the request
reference. If another request used the same reference or changed the same record first, the
transaction's conditions fail: the request then gets the stored response, or is decided again on the
current data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, field, replace
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
from chalicelib.cards.requests import disclosure, envelope, incoming
from chalicelib.cards.requests.action import Action, Handler
from chalicelib.cards.requests.answers_in_time import AnswersInTime, Undecided
from chalicelib.cards.requests.envelope import Answer
from chalicelib.cards.requests.error_log import log_refusal, log_repeat
from chalicelib.cards.requests.own_writes import is_own, was_written
from chalicelib.cards.requests.pending_request import PendingRequest, Written
from chalicelib.cards.requests.references import IdempotencyClaim, Repeated, RequestReferences, Unanswered
from chalicelib.cards.requests.request_context import Outcome, RefusedWith, RequestContext, UnrecordedAnswer
from chalicelib.cards.storage.hot_key_queue import HotKeyQueues, QueuePlace
from chalicelib.cards.storage.reserved_rows import ReservedRow, RowReservation
from chalicelib.foundation import jsontext, log, security_refusals, time_limit
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.dynamodb.store import AnswerLost, Busy, ConditionFailed, Operation, Put, Store, StoreError
from chalicelib.foundation.identifiers import new_id
from chalicelib.foundation.lazy_dataclasses import dataclass

WAITING_SECONDS = 5
"""Seconds that a repeat waits for the first request's response."""
_ATTEMPTS = 40
_LOOKS = 30
_OUTCOME_UNKNOWN = (
    "storage did not answer: it is not known whether the request was carried out; "
    "it is safe to repeat it with the same request_reference_id"
)


class OutcomeUnknown(AnswerLost):
    """Storage did not say whether an outcome was written, and shows nothing of it; it may still be written."""


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
    in_time: AnswersInTime
    new_reservation: Callable[[], RowReservation]
    flows: Sequence[object]
    actions: Mapping[str, Action]
    elsewhere: Mapping[str, str]
    _methods: dict[Callable[..., Any], Callable[..., Any]] = field(default_factory=dict)
    _queues: HotKeyQueues = field(default_factory=HotKeyQueues)

    def answer(self, body: bytes) -> Answer:
        """The response to a request body."""
        came = self.clock.monotonic()

        def answer() -> str:
            members = incoming.parse(body)
            return self._answer_in_time(lambda: self._admit(members), members, came)

        return _answer_or_error(answer)

    def answer_internally(self, credential: Credential, members: Mapping[str, Any]) -> str:
        """The envelope for a request of the service itself, with a trusted credential (see ``portal``)."""
        came = self.clock.monotonic()
        return _answer_or_error(lambda: self._answer_in_time(lambda: credential, members, came)).text

    # -- internals

    def _answer_in_time(self, authenticate: Callable[[], Credential], members: Mapping[str, Any], came: float) -> str:
        """Answer a request that ``came`` at a monotonic clock time, within its action's time limit, if there is one."""
        name = members.get("action")
        action = self.actions.get(name) if isinstance(name, str) else None
        if action is None or action.late is None:
            return self._answer(authenticate(), members, came)
        answer = partial(self._unrecorded_answer, action, reserved=None)
        return self.in_time.answer(
            action,
            came,
            lambda: self._answer(authenticate(), members, came),
            lambda: answer(action.request.read_fields(members)),
        )

    def _answer(self, credential: Credential, members: Mapping[str, Any], came: float) -> str:
        action = self._action(members)
        log.bind(action=action.name, credential=credential.identity)
        reference = incoming.read_reference(members)
        incoming.check_access(credential, action, members)
        request = action.request.read_fields(members)
        claim = self._claim(credential, action, request, reference) if reference is not None else None
        try:
            return self._carry_out(credential, action, request, claim, came)
        except Repeated as repeated:
            if repeated.answer is None:  # only the claim of a reveal is kept
                return envelope.mark_as_repeat(self._carry_out(credential, action, request, None, came))
            answer = envelope.remove_expiry(repeated.answer) if repeated.other_view else repeated.answer
            _audit(credential, request, jsontext.loads(answer).get("data"))
            log_repeat(answer)
            return envelope.mark_as_repeat(answer)

    def _admit(self, members: Mapping[str, Any]) -> Credential:
        """The credential of a request, within its limit of calls. Raises: Refused, StoreError."""
        credential = self._credential(members)
        self.limits.admit(credential)
        return credential

    def _credential(self, members: Mapping[str, Any]) -> Credential:
        parts = (members.get(name) for name in ("access_key", "access_api_id", "access_api_key"))
        credential = self.credentials.check(*parts)
        if credential is None:
            security_refusals.record(
                "wrong_card_credentials", "credentials refused", reason="a key is missing or wrong"
            )
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
        self, credential: Credential, action: Action, request: Request, claim: IdempotencyClaim | None, came: float
    ) -> str:
        """Decide and write, with retries after conflicts. Raises: Refused, Repeated, StoreError."""
        queue_place = QueuePlace(self._queues, self.clock, came + action.patience)
        reservation = self.new_reservation()
        now = self.clock.time()
        pending = PendingRequest(credential, action, request, claim, queue_place, reservation, action.handler, now)
        try:
            written = self._retry(pending) if action.late is None else self._retry_in_time(pending, came)
        except (Refused, Repeated):
            reservation.release()
            raise
        finally:
            queue_place.leave()
        self.events.dispatch(written.deliveries)
        return written.answer if isinstance(written.answer, str) else written.answer()

    def _retry_in_time(self, pending: PendingRequest, came: float) -> Written:
        """Decide in time, or record the late outcome, or leave that to a worker. Raises: Refused, Repeated."""

        def decide(handler: Handler[Any]) -> Written:
            if handler is pending.action.late:
                pending.queue_place.stop_waiting()
            return self._retry(replace(pending, handler=handler))

        written = self.in_time.decide(pending.action, came, decide)
        if written is not None:
            return written
        reserved = pending.reservation.row if pending.reservation.is_made else None
        claim = pending.claim and asdict(pending.claim)
        caller = {"manager_id": pending.credential.manager_id, "level": pending.level, "claim": claim}
        caller |= {"asked_at": pending.asked_at}
        unrecorded, recorded = self._unrecorded_answer(pending.action, pending.request, reserved), pending.late_answers
        return Written(self.in_time.leave_to_worker(unrecorded, caller, recorded[-1] if recorded else None))

    def _retry(self, pending: PendingRequest) -> Written:
        """Attempt until an outcome is written. Raises: Refused, Repeated, StoreError, Undecided."""
        started = self.clock.time()
        for attempt in count():
            context = self._context(pending)
            try:
                return self._attempt(pending, context)
            except Repeated as repeated:
                if (own := pending.answered_attempt(repeated)) is None:
                    raise
                return own
            except (ConditionFailed, EntryGone, Busy) as failure:
                own = pending.written_attempt(failure) if isinstance(failure, ConditionFailed) else None
                if own is not None:
                    return own
                if pending.action.late is None and isinstance(failure, ConditionFailed):
                    pending.reservation.give_up_if_cancelled(failure)
                self._wait(pending, attempt, failure)
            except Unanswered:
                if attempt + 1 >= _LOOKS or self.clock.time() >= started + WAITING_SECONDS:
                    raise Repeated(envelope.error(Refused(Status.IN_PROGRESS))) from None
                pending.queue_place.leave()
                self.store.wait(4)
        raise AssertionError("unreachable")

    def _wait(self, pending: PendingRequest, attempt: int, failure: Exception) -> None:
        """Wait for the next attempt. Raises: Refused or Undecided, if none is left."""
        place, is_late = pending.queue_place, pending.is_late
        if attempt + 1 >= _ATTEMPTS or (time_limit.is_over() if is_late else place.is_over):
            raise Refused(Status.CONFLICT) if pending.action.late is None else Undecided from None
        if is_late:
            self.store.wait(min(attempt + 2, 4))
        elif place.lost_turns or not isinstance(failure, ConditionFailed):
            self.store.wait(min(attempt + 2, 6), place.seconds_left)

    def _context(self, pending: PendingRequest) -> RequestContext:
        credential, action = pending.credential, pending.action
        return RequestContext(
            store=self.store,
            references=self.references,
            action=action.name,
            is_write=action.effect == "write",
            credential=credential,
            catalogue=self.programmes.catalogue(credential.manager_id),
            level=pending.level,
            clock=self.clock,
            queue_place=pending.queue_place,
            reservation=pending.reservation,
            claim=pending.claim,
        )

    def _attempt(self, pending: PendingRequest, context: RequestContext) -> Written:
        """Decide and write once.

        Raises: ConditionFailed, EntryGone, Busy, if another request came first; Unanswered.
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
            log_refusal(refusal)
            return Written(answer)
        self.programmes.mark_used(context.catalogue, outcome.uses)
        deliveries = self.events.record(context.manager_id, outcome.events)
        operations = [*outcome.operations, *deliveries.operations]
        if outcome.asks is not None:
            self._write(pending, context, operations, None, None)
            return Written(outcome.asks, deliveries)
        answer = envelope.success(outcome.data, outcome.beside)
        written = pending.attempts[context.write_id] = Written(answer, deliveries)
        pending.late_answers.extend([answer] if pending.is_late else [])
        kept, whole = answer, None
        if pending.action.seals and context.claim is not None:
            kept, whole = envelope.success(envelope.remove_card_data(outcome.data or {}), {}), answer
        self._write(pending, context, operations, kept, whole)
        _audit(pending.credential, pending.request, outcome.data)
        return written

    def _decide(self, pending: PendingRequest, context: RequestContext) -> Outcome[Any]:
        """The flow's decision. Raises: Refused; Undecided, if it came too late."""
        outcome: Outcome[Any] = self._method(pending.handler)(pending.request, context)
        if pending.action.late is not None and not pending.is_late and pending.queue_place.is_over:
            raise Undecided
        return outcome

    def _write(
        self,
        pending: PendingRequest,
        context: RequestContext,
        operations: Sequence[Operation],
        answer: str | None,
        whole: str | None,
    ) -> None:
        """Write the decision with the claim; without a response yet, the claim is left pending.

        Raises:
            Repeated, Refused: another request used the reference first.
            ConditionFailed, Busy: a record has changed, or DynamoDB is busy.
            OutcomeUnknown: storage did not say whether it was written.
        """
        claim, all_operations = context.claim, [*operations]
        if claim is not None:
            if answer is None:
                claiming = [self.references.put_claim(claim)]
            else:
                kept = None if pending.action.effect == "reveal" else answer
                claiming = self.references.put_answer(claim, kept, whole, context.now)
            if not operations:
                return self._claim_alone(claim, context.now, claiming[0])
            all_operations = [*claiming, *operations]
        return self._transact(pending, context, all_operations) if all_operations else None

    def _transact(self, pending: PendingRequest, context: RequestContext, operations: Sequence[Operation]) -> None:
        """Write a transaction; if there is a claim, it is the first operation. Raises: as ``_write``."""
        claim = context.claim
        try:
            self.store.transact(operations)
        except ConditionFailed as failure:
            if pending.written_attempt(failure) is not None:
                raise
            if claim is not None and 0 in failure.failed:
                self._check_repeat(claim, context.now)
            if not (failure.repeated and is_own(context, failure)):
                if claim is None or 0 not in failure.failed:  # nobody queues for claims
                    pending.queue_place.queue_for(operations[failure.failed[0]])
                raise
        except AnswerLost as failure:
            if pending.action.late is not None or not self._finds(context, operations):  # a late outcome looks itself
                raise OutcomeUnknown(str(failure)) from failure

    def _finds(self, context: RequestContext, operations: Sequence[Operation]) -> bool:
        """Whether an attempt whose response was lost is stored, as far as storage says."""
        try:
            return was_written(context, operations)
        except StoreError:
            log.exception("storage did not respond")
            return False

    def _claim_alone(self, claim: IdempotencyClaim, now: int, put: Put) -> None:
        """Claim a reference without other writes."""
        try:
            self.store.put(put.table, put.item, put.condition)
        except ConditionFailed:
            self._check_repeat(claim, now)
            raise

    def _check_repeat(self, claim: IdempotencyClaim, now: int) -> None:
        self.references.check_repeat(claim, self.store.batch_get(self.references.keys(claim)), now)

    def _unrecorded_answer(self, action: Action, request: Request, reserved: ReservedRow | None) -> UnrecordedAnswer:
        assert action.unrecorded is not None
        answer: UnrecordedAnswer = self._method(action.unrecorded)(request, reserved)
        return answer

    def _method(self, handler: Callable[..., Any]) -> Callable[..., Any]:
        """The bound method of the flow that defines this handler."""
        method = self._methods.get(handler)
        if method is None:
            flow = next(flow for flow in self.flows if getattr(type(flow), handler.__name__, None) is handler)
            method = self._methods[handler] = partial(handler, flow)
        return method


def _answer_or_error(answer: Callable[[], str]) -> Answer:
    """The response, for success or error."""
    refusal = Refused(Status.INTERNAL)
    try:
        return Answer(answer())
    except Refused as error:
        refusal = error
    except OutcomeUnknown:
        log.exception("outcome unknown")
        refusal = Refused(Status.INTERNAL, _OUTCOME_UNKNOWN)
    except StoreError:
        log.exception("storage did not respond")
    except Exception:
        log.exception("failed")
    log_refusal(refusal)
    return Answer(envelope.error(refusal), refusal.retry_after)


def _audit(credential: Credential, request: Any, data: Any) -> None:
    """Write an audit log line for each card datum in a response."""
    if not isinstance(data, dict):
        return
    for member, field_shown in ANSWERED.items():
        if data.get(member):
            disclosure.audit_reveal(credential, data.get("card_id") or request.card_id, field_shown)
