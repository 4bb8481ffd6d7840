"""The request engine: read, decide, write; on a conflict, decide again.

A decision is a function of what was read. Its writes have conditions, so that DynamoDB refuses those of whoever comes
second; the decision is then asked again, on the items that failed. What happens to a write whose response is lost is
the store's business (``dynamodb.store``) as long as it can repeat it. After that, the engine looks for what only this
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
"""A decision: it may raise an error of its own instead of writing anything, and is made again if others were first.

It calls no network, and no storage, except that those of cards read records and reserve rows (see ``cards.requests``).
"""


class DecideAgain(Exception):
    """A decision used data that no longer exists: it is made again, with the first facts."""


class OutcomeUnknown(AnswerLost):
    """The response to a write is lost, and no proof of the write is stored; it may still be applied."""


class RetryPolicy(Protocol):
    """How often a conflicting request decides again, and how long it waits in between."""

    def wait(self, number: int, failure: Exception, operations: Sequence[Operation], /) -> None:
        """Wait after the attempt ``number``, from 0, at ``operations``. Raises: the answer, if it was the last."""


@dataclass(frozen=True, slots=True)
class DefaultRetry:
    """At most six attempts, and ``busy_attempts`` while DynamoDB is busy."""

    store: Store
    busy_attempts: int = 1

    def wait(self, number: int, failure: Exception, _: Sequence[Operation]) -> None:
        """Wait before each round but the first, whose failure came with the current data. Raises: StoreError."""
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
    """The decision to write and answer or, if a condition fails, to answer or raise what ``otherwise`` makes of it.

    The options are as in ``Outcome``.
    """
    permitted = Outcome(answer, writes, proof=proof, is_repeatable=is_repeatable, is_overwritten=is_overwritten)
    return lambda facts: permitted if facts.permits(*writes) else Outcome(otherwise(facts))


def _no_dispatch(_: Any) -> None:
    raise TypeError("this engine dispatches no deliveries")


NOTHING_READ = Facts()


class Engine:
    """Carries out decisions; ``dispatch`` queues the deliveries that one has recorded, if any can."""

    def __init__(self, store: Store, dispatch: Callable[[Any], None] = _no_dispatch) -> None:
        self._store = store
        self._dispatch = dispatch

    def read(self, keys: Sequence[Key]) -> Facts:
        """The items of ``keys``, in one strongly consistent read. Raises: StoreError."""
        return Facts(keys, self._store.batch_get(keys) if keys else [])

    def wait(self, number: int, at_most: float = inf) -> None:
        """Wait with jitter before the attempt after ``number``, at most so many seconds."""
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
        """Decide, write, dispatch, and answer.

        Args:
            alongside: writes of the caller, to be applied with those of the outcome.
            busy_attempts: how often the outcome is written before DynamoDB counts as busy.
            if_busy: gives the answer, or the error, if DynamoDB is busy and nothing was written.
            if_failed: takes back what may be written after a storage error, and may give another error to raise.

        Raises:
            OutcomeUnknown: the response to the write is lost.
            StoreError: nothing was written: ``ConditionFailed`` if a write of ``alongside`` failed, ``Conflict`` if
                others were faster at each attempt. The errors of the decision are raised as they are.
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
        """Report an outcome that is written, dispatch its deliveries, and answer. Raises: its error, if it has one."""
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
        """Decide and write; the outcome must be finished.

        ``attempts`` has the earlier outcomes of the same request, one of which may have been written; those of this
        call are added. Raises: as ``carry_out``, and what ``retry`` raises.
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
        """Write and finish an outcome, for a job that comes again; false if others were first, or DynamoDB is busy.

        Raises: StoreError.
        """
        try:
            self._apply(outcome, outcome.operations)
        except (ConditionFailed, Busy):
            return False
        self.finish(outcome)
        return True

    def _decide(self, decide: Decide[A], facts: Facts) -> tuple[Facts, Outcome[A]]:
        """The decision, and its facts: it may ask for more items once. Raises: DecideAgain, and its own errors."""
        try:
            try:
                return facts, decide(facts)
            except NotRead as more:
                facts = facts.with_items(more.keys, self._store.batch_get(more.keys))
            return facts, decide(facts)
        except ConditionFailed as failure:  # of a write that the decision depends on, such as a reservation
            raise DecideAgain from failure

    def _write(self, outcome: Outcome[A], alongside: Sequence[Operation], attempts: Sequence[Outcome[A]]) -> Outcome[A]:
        """Write an outcome; returns the outcome of the attempt that was written. Raises: StoreError."""
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
        """Make an update that may be made twice; a transaction of its own would conflict with others."""
        table, key, change = update.table, update.key, update.set
        try:
            self._store.update(table, key, set=change, remove=update.remove, add=update.add, condition=update.condition)
        except AnswerLost:
            self._store.transact([update])

    def _find_own(self, attempts: Sequence[Outcome[A]]) -> Outcome[A] | None:
        """The attempt that was written although its response was lost; ``None`` if none shows itself."""
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
    """The attempt that was written, as the items of failed conditions show; ``None`` if they show none."""
    failed = [(operations[position], failure.items[position]) for position in failure.failed]
    proofs = [(each, each.written_proof) for each in reversed(attempts)]
    return next(
        (each for each, proof in proofs if proof and any(proof.shows(write, item) for write, item in failed)), None
    )


def try_to(
    action: Callable[[], A], failed: str, *, report: Callable[..., None] = log.exception, **members: Any
) -> A | None:
    """Do what may be left undone: a storage error is logged as ``failed``, with ``members``."""
    try:
        return action()
    except StoreError:
        report(failed, **members)
        return None
