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
from importlib import import_module
from typing import Any

from chalicelib.cards.events.card_events import CardEvents
from chalicelib.cards.programs.credential_limits import CredentialLimits
from chalicelib.cards.programs.credentials import Credential, Credentials
from chalicelib.cards.programs.programmes import Programmes
from chalicelib.cards.protocol.card_records import ANSWERED
from chalicelib.cards.protocol.message import Request
from chalicelib.cards.protocol.status_codes import Refused, Status, unknown_action
from chalicelib.cards.requests import disclosure, envelope, incoming
from chalicelib.cards.requests.action import Action, Handler
from chalicelib.cards.requests.answers_in_time import AnswersInTime, Undecided
from chalicelib.cards.requests.envelope import Answer
from chalicelib.cards.requests.error_log import log_refusal, log_repeat
from chalicelib.cards.requests.pending_request import PendingRequest, RequestPace, Response
from chalicelib.cards.requests.references import IdempotencyClaim, Repeated, RequestReferences
from chalicelib.cards.requests.request_context import Outcome, RefusedWith, RequestContext, UnrecordedAnswer
from chalicelib.cards.storage.hot_key_queue import HotKeyQueues, QueuePlace
from chalicelib.cards.storage.record import proof_of
from chalicelib.cards.storage.reserved_rows import ReservedRow, RowReservation
from chalicelib.foundation import jsontext, log, security_refusals
from chalicelib.foundation.clock import Clock
from chalicelib.foundation.dynamodb.store import Item, Operation, Store, StoreError
from chalicelib.foundation.identifiers import new_id
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.requests import outcome as written
from chalicelib.foundation.requests.engine import Engine, OutcomeUnknown
from chalicelib.foundation.requests.facts import Facts
from chalicelib.foundation.requests.outcome import NO_DELIVERIES, Deliveries, Proof

Decided = written.Outcome[Response]
_OUTCOME_UNKNOWN = (
    "storage did not answer: it is not known whether the request was carried out; "
    "it is safe to repeat it with the same request_reference_id"
)


@dataclass(frozen=True, slots=True)
class Dispatcher:
    """Carries out requests; ``make_flow`` makes the flow of which an action's handler is a method.

    ``elsewhere`` maps actions of other URLs to a hint on where to call them.
    """

    store: Store
    engine: Engine
    clock: Clock
    credentials: Credentials
    credential_limits: CredentialLimits
    programmes: Programmes
    references: RequestReferences
    events: CardEvents
    in_time: AnswersInTime
    new_reservation: Callable[[], RowReservation]
    make_flow: Callable[[Any], Any]
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
        self.credential_limits.admit(credential)
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
            decided = self._retry(pending) if action.late is None else self._retry_in_time(pending, came)
        except (Refused, Repeated):
            reservation.release()
            raise
        finally:
            queue_place.leave()
        answer = self.engine.finish(decided)
        return answer if isinstance(answer, str) else answer()

    def _retry_in_time(self, pending: PendingRequest, came: float) -> Decided:
        """Decide in time, or record the late outcome, or leave that to a worker. Raises: Refused, Repeated."""

        def decide(handler: Handler[Any]) -> Decided:
            if handler is pending.action.late:
                pending.queue_place.stop_waiting()
            return self._retry(replace(pending, handler=handler))

        decided = self.in_time.decide(pending.action, came, decide)
        if decided is not None:
            return decided
        reserved = pending.reservation.row if pending.reservation.is_made else None
        claim = pending.claim and asdict(pending.claim)
        caller = {"manager_id": pending.credential.manager_id, "level": pending.level, "claim": claim}
        caller |= {"asked_at": pending.asked_at}
        unrecorded, recorded = self._unrecorded_answer(pending.action, pending.request, reserved), pending.late_answers
        return written.Outcome(self.in_time.leave_to_worker(unrecorded, caller, recorded[-1] if recorded else None))

    def _retry(self, pending: PendingRequest) -> Decided:
        """Attempt until an outcome is written. Raises: Refused, Repeated, StoreError, Undecided."""
        pace = RequestPace(pending, self.engine, self.clock, self.clock.time())
        assumed = [pending.claim.stored.key] if pending.claim else []  # hardly any request is a repeat
        facts = Facts(assumed, [None for _ in assumed])
        try:
            return self.engine.write(partial(self._decide, pending), facts, pace, attempts=pending.attempts)
        except Repeated as repeated:
            if (own := pending.answered_attempt(repeated)) is None:
                raise
            return own

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

    def _decide(self, pending: PendingRequest, facts: Facts) -> Decided:
        """The response, and what is written with it.

        Raises: EntryGone, Unanswered; Repeated or Refused, if another request used the reference first; Undecided.
        """
        context = self._context(pending)
        if context.claim is not None:
            self._check_claim(context.claim, facts, context.now)
        try:
            outcome = self._decided(pending, context)
        except Refused as refusal:
            return self._refuse(pending, context, refusal)
        self.programmes.mark_used(context.catalogue, outcome.uses)
        deliveries = self.events.record(context.manager_id, outcome.events)
        if outcome.asks is not None:
            return self._outcome(pending, context, outcome.asks, outcome.operations, deliveries)
        answer, whole = envelope.success(outcome.data, outcome.beside), None
        pending.late_answers.extend([answer] if pending.is_late else [])
        kept = answer
        if pending.action.seals and context.claim is not None:
            kept, whole = envelope.success(envelope.remove_card_data(outcome.data or {}), {}), answer
        decided = self._outcome(pending, context, answer, outcome.operations, deliveries, kept, whole)
        return replace(decided, report=lambda: _audit(pending.credential, pending.request, outcome.data))

    def _decided(self, pending: PendingRequest, context: RequestContext) -> Outcome[Any]:
        """The flow's decision. Raises: Refused; Undecided, if it came too late."""
        outcome: Outcome[Any] = self._method(pending.handler)(pending.request, context)
        if pending.action.late is not None and not pending.is_late and pending.queue_place.is_over:
            raise Undecided
        return outcome

    def _refuse(self, pending: PendingRequest, context: RequestContext, refusal: Refused) -> Decided:
        """A refusal, kept with its writes if its status is; a repeat comes before what is wrong with it now."""
        context.reservation.release()
        answer: Response = envelope.error(refusal)
        if refusal.status.is_kept:
            counted = refusal.operations if isinstance(refusal, RefusedWith) else ()
            decided = self._outcome(pending, context, answer, counted, kept=envelope.error(refusal))
        else:
            if context.claim is not None and not context.has_read_claim:
                self._check_claim(context.claim, self.engine.read(self.references.keys(context.claim)), context.now)
            decided = written.Outcome(answer)
        return replace(decided, report=lambda: log_refusal(refusal))

    def _outcome(
        self,
        pending: PendingRequest,
        context: RequestContext,
        answer: Response,
        operations: Sequence[Operation],
        deliveries: Deliveries = NO_DELIVERIES,
        kept: str | None = None,
        whole: str | None = None,
    ) -> Decided:
        """The outcome with its claim, first of its writes; without a response to keep, the claim is left pending."""
        claim = context.claim
        if claim is None:
            return written.Outcome(answer, operations, deliveries, proof_of(operations, context.write_id))
        claiming = [self.references.put_claim(claim)]
        if kept is not None:
            answered = None if pending.action.effect == "reveal" else kept
            claiming = self.references.put_answer(claim, answered, whole, context.now)
        proof = _proof_of_claim(claim, claiming[0].item) or proof_of(operations, context.write_id)
        return written.Outcome(answer, [*claiming, *operations], deliveries, proof)

    def _check_claim(self, claim: IdempotencyClaim, facts: Facts, now: int) -> None:
        """Compare a request with the claim that it met, if any. Raises: as ``RequestReferences.check_repeat``."""
        if facts.item(claim.stored.key) is not None:
            keys = self.references.keys(claim)
            facts.require(*keys)
            self.references.check_repeat(claim, [facts.item(key) for key in keys], now)

    def _unrecorded_answer(self, action: Action, request: Request, reserved: ReservedRow | None) -> UnrecordedAnswer:
        assert action.unrecorded is not None
        answer: UnrecordedAnswer = self._method(action.unrecorded)(request, reserved)
        return answer

    def _method(self, handler: Callable[..., Any]) -> Callable[..., Any]:
        """The bound method of the flow that defines this handler."""
        method = self._methods.get(handler)
        if method is None:
            flow = vars(import_module(handler.__module__))[handler.__qualname__.partition(".")[0]]
            method = self._methods[handler] = partial(handler, self.make_flow(flow))
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


def _proof_of_claim(claim: IdempotencyClaim, item: Item) -> Proof | None:
    """A claim with an answer names the attempt that wrote it, since each seals the answer anew."""
    answer = item.get("answer")
    return Proof([claim.stored.key], lambda stored: stored.get("answer") == answer) if answer is not None else None


def _audit(credential: Credential, request: Any, data: Any) -> None:
    """Write an audit log line for each card datum in a response."""
    if not isinstance(data, dict):
        return
    for member, field_shown in ANSWERED.items():
        if data.get(member):
            disclosure.audit_reveal(credential, data.get("card_id") or request.card_id, field_shown)
