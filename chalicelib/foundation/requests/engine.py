"""The request engine: reads data, decides, writes the result, and repeats these steps after a conflict.

A decision is a function of the items read. Its writes have conditions, so that DynamoDB refuses the later of two
concurrent writes. The engine then decides again with the items of the failed conditions. After a lost response, the
store retries the write if this is safe (``dynamodb.store``). Otherwise, the engine looks for items that only this
attempt can have written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from math import inf
from typing import Any, Protocol, TypeVar

from chalicelib.foundation import log
from chalicelib.foundation.dynamodb.store import (
    ATTEMPTS,
    AnswerLost,
    Busy,
    ConditionFailed,
    Conflict,
    Operation,
    Put,
    Store,
    StoreError,
    Update,
)
from chalicelib.foundation.lazy_dataclasses import dataclass
from chalicelib.foundation.requests.facts import Facts, Key, NotRead
from chalicelib.foundation.requests.outcome import Outcome, Proof

A = TypeVar("A")
_MOST_READ = 100
Decide = Callable[[Facts], Outcome[A]]
"""A function that decides on a request. It may raise an error without writing any data. After a concurrent write, the
engine calls it again.

The function calls neither the network nor storage. Only card decisions may read records and reserve rows (see
``cards.requests``).
"""


class DecideAgain(Exception):
    """A decision used data that no longer exists. The engine decides again with the initial facts."""


class OutcomeUnknown(AnswerLost):
    """The response to a write is lost, and no proof of the write is stored. The write may still be applied."""


class RetryPolicy(Protocol):
    """The maximum number of decisions for a conflicting request, and the delays between them."""

    def wait(self, number: int, failure: Exception, operations: Sequence[Operation], /) -> None:
        """Wait after the attempt ``number``, counted from 0, to write ``operations``. After the last attempt, raise the
        error to report.
        """


@dataclass(frozen=True, slots=True)
class DefaultRetry:
    """Allows at most six attempts, but only ``busy_attempts`` while DynamoDB is busy."""

    store: Store
    busy_attempts: int = 1

    def wait(self, number: int, failure: Exception, _: Sequence[Operation]) -> None:
        """Wait before each round except the first. The first round follows a failure that returned current data.
        Raises: StoreError.
        """
        if isinstance(failure, Busy) and number + 1 >= self.busy_attempts:
            raise failure
        if number + 1 >= ATTEMPTS:
            raise Conflict("the records kept changing") from failure
        if number:
            self.store.wait(number)


def if_permitted(
    writes: Sequence[Operation],
    answer: A,
    otherwise: Callable[[Facts], A | Exception],
    *,
    proof: Proof | None = None,
    is_repeatable: bool = False,
    is_overwritten: bool = False,
) -> Decide[A]:
    """Create a decision that writes and responds. If a condition fails, it returns or raises the result of
    ``otherwise``.

    The options have the same meaning as in ``Outcome``.
    """
    permitted = Outcome(answer, writes, proof=proof, is_repeatable=is_repeatable, is_overwritten=is_overwritten)
    return lambda facts: permitted if facts.permits(*writes) else Outcome(otherwise(facts))


def _no_dispatch(_: Any) -> None:
    raise TypeError("this engine dispatches no deliveries")


NOTHING_READ = Facts()


class Engine:
    """Executes decisions. ``dispatch`` queues the deliveries that a decision recorded."""

    def __init__(self, store: Store, dispatch: Callable[[Any], None] = _no_dispatch) -> None:
        self._store = store
        self._dispatch = dispatch

    def read(self, keys: Sequence[Key]) -> Facts:
        """Read the items of ``keys`` in one strongly consistent read. Raises: StoreError."""
        return Facts(keys, self._store.batch_get(keys) if keys else [])

    def wait(self, number: int, at_most: float = inf) -> None:
        """Wait with jitter before the attempt that follows attempt ``number``. The wait is limited to ``at_most``
        seconds.
        """
        self._store.wait(number, at_most)

    def carry_out(
        self,
        decide: Decide[A],
        facts: Facts = NOTHING_READ,
        *,
        alongside: Sequence[Operation] = (),
        busy_attempts: int = 1,
        if_busy: Callable[[], A | Exception] | None = None,
        if_failed: Callable[[StoreError], Exception | None] | None = None,
    ) -> A:
        """Decide, write, dispatch, and respond.

        Args:
            alongside: writes of the caller, applied together with the outcome's writes.
            busy_attempts: the number of write attempts before DynamoDB counts as busy.
            if_busy: returns the response, or the error, if DynamoDB is busy and no data was written.
            if_failed: reverts possible writes after a storage error, and may return a different error to raise.

        Raises:
            OutcomeUnknown: the response to the write is lost.
            StoreError: no data was written. ``ConditionFailed`` means that a write of ``alongside`` failed, and
                ``Conflict`` that each attempt conflicted with other writes. Errors of the decision are raised
                unchanged.
        """
        try:
            outcome = self.write(decide, facts, DefaultRetry(self._store, busy_attempts), alongside=alongside)
        except StoreError as error:
            if isinstance(error, Busy) and if_busy is not None:
                outcome = Outcome(if_busy())
            elif if_failed is not None and (other := if_failed(error)) is not None:
                raise other from error
            else:
                raise
        return self.finish(outcome)

    def finish(self, outcome: Outcome[A]) -> A:
        """Report a written outcome, dispatch its deliveries, and return its response. Raises: the outcome's error, if
        any.
        """
        if outcome.report is not None:
            outcome.report()
        if outcome.deliveries.operations:
            self._dispatch(outcome.deliveries)
        if isinstance(outcome.answer, Exception):
            raise outcome.answer
        return outcome.answer

    def write(
        self,
        decide: Decide[A],
        facts: Facts,
        retry: RetryPolicy | None = None,
        *,
        alongside: Sequence[Operation] = (),
        attempts: list[Outcome[A]] | None = None,
    ) -> Outcome[A]:
        """Decide and write. The caller must then call ``finish`` with the outcome.

        ``attempts`` has the earlier outcomes of the same request, one of which may have been written. Outcomes of this
        call are added. Raises: the errors of ``carry_out`` and of ``retry``.
        """
        retry, attempts, current = retry or DefaultRetry(self._store), [] if attempts is None else attempts, facts
        for number in count():
            operations: Sequence[Operation] = ()
            try:
                current, outcome = self._decide(decide, current)
                operations = outcome.operations
                attempts.append(outcome)
                written = self._write(outcome, alongside, attempts)
            except DecideAgain as failure:
                current = facts
                retry.wait(number, failure, operations)
            except ConditionFailed as failure:
                if failure.failed[-1] >= len(operations):
                    raise
                current = current.after(operations, failure)
                retry.wait(number, failure, operations)
            except Busy as failure:
                retry.wait(number, failure, operations)
            else:
                return written
        raise AssertionError("unreachable")

    def attempt(self, outcome: Outcome[Any]) -> bool:
        """Write and finish an outcome for a recurring job. Returns false after a conflict, or if DynamoDB is busy.

        Raises: StoreError.
        """
        try:
            self._apply(outcome, outcome.operations)
        except (ConditionFailed, Busy):
            return False
        self.finish(outcome)
        return True

    def _decide(self, decide: Decide[A], facts: Facts) -> tuple[Facts, Outcome[A]]:
        """Return the decision and its facts. A decision may request more items once. Raises: DecideAgain, or errors of
        the decision.
        """
        try:
            try:
                return facts, decide(facts)
            except NotRead as more:
                facts = facts.with_items(more.keys, self._store.batch_get(more.keys))
            return facts, decide(facts)
        except ConditionFailed as failure:  # of a write that the decision depends on, such as a reservation
            raise DecideAgain from failure

    def _write(self, outcome: Outcome[A], alongside: Sequence[Operation], attempts: Sequence[Outcome[A]]) -> Outcome[A]:
        """Write an outcome. Returns the outcome of the written attempt. Raises: StoreError."""
        operations = [*outcome.operations, *alongside]
        try:
            self._apply(outcome, operations)
        except ConditionFailed as failure:
            own = _find_written(attempts, operations, failure)
            if own is None and failure.repeated:
                own = self._find_own(attempts)
            if own is None:
                raise
            return own
        except AnswerLost as failure:
            if (own := self._find_own(attempts)) is None:
                raise OutcomeUnknown(str(failure)) from failure
            return own
        return outcome

    def _apply(self, outcome: Outcome[A], operations: Sequence[Operation]) -> None:
        match operations:
            case []:
                return
            case [Put(table, item, condition)] if not outcome.is_overwritten:
                self._store.put(table, item, condition)
            case [Update() as update] if outcome.is_repeatable and not update.delete:
                self._update(update)
            case _:
                self._store.transact(operations)

    def _update(self, update: Update) -> None:
        """Make an idempotent update. No transaction is used, because it would conflict with other transactions."""
        table, key, change = update.table, update.key, update.set
        try:
            self._store.update(table, key, set=change, remove=update.remove, add=update.add, condition=update.condition)
        except AnswerLost:
            self._store.transact([update])

    def _find_own(self, attempts: Sequence[Outcome[A]]) -> Outcome[A] | None:
        """Return the attempt that was written although its response was lost, or ``None`` if no proof exists."""
        proofs = [(each, each.written_proof) for each in reversed(attempts)]
        candidates = [(each, proof, key) for each, proof in proofs if proof is not None for key in proof.keys]
        candidates = candidates[:_MOST_READ]
        try:
            items = self._store.batch_get([key for _, _, key in candidates]) if candidates else []
        except StoreError:
            log.exception("own write not looked up")
            return None
        found = zip(candidates, items, strict=True)
        return next((each for (each, proof, _), item in found if item is not None and proof.is_own(item)), None)


def _find_written(
    attempts: Sequence[Outcome[A]], operations: Sequence[Operation], failure: ConditionFailed
) -> Outcome[A] | None:
    """Return the attempt that was written, or ``None`` if no attempt is known to be written.

    An attempt was written if an item of a failed condition is the attempt's proof.
    """
    failed = [(operations[position], failure.items[position]) for position in failure.failed]
    proofs = [(each, each.written_proof) for each in reversed(attempts)]
    return next(
        (each for each, proof in proofs if proof and any(proof.shows(write, item) for write, item in failed)), None
    )


def try_to(
    action: Callable[[], A], failed: str, *, report: Callable[..., None] = log.exception, **members: Any
) -> A | None:
    """Run an optional action. After a storage error, write a log line with the event ``failed`` and ``members``."""
    try:
        return action()
    except StoreError:
        report(failed, **members)
        return None
