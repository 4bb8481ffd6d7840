"""The engine of requests: read, decide, write; whoever comes second decides again.

A decision is a function of what was read. Its writes have conditions, so that DynamoDB refuses those of whoever comes
second; the decision is then asked again, on the items that failed. What happens to a write whose response is lost is
the store's business (``dynamodb.store``) as long as it can repeat it. After that, the engine looks for what only this
attempt can have written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from chalicelib.foundation import log
from chalicelib.foundation.dynamodb.store import (
    ATTEMPTS,
    Busy,
    ConditionFailed,
    Conflict,
    NeverSent,
    Operation,
    Put,
    Store,
    StoreError,
    StoreUnavailable,
    Update,
)
from chalicelib.foundation.requests.facts import Facts, Key, NotRead
from chalicelib.foundation.requests.outcome import Outcome

A = TypeVar("A")
Decide = Callable[[Facts], Outcome[A]]
"""A decision: it calls neither storage nor network. It may raise an error of its own instead of writing anything."""


class Engine:
    """Carries out decisions; ``dispatch`` queues the deliveries that one has recorded."""

    def __init__(self, store: Store, dispatch: Callable[[Any], None]) -> None:
        self._store = store
        self._dispatch = dispatch

    def read(self, keys: Sequence[Key]) -> Facts:
        """The items of ``keys``, in one strongly consistent read."""
        return Facts(keys, self._store.batch_get(keys) if keys else [])

    def carry_out(
        self, decide: Decide[A], facts: Facts, *, alongside: Sequence[Operation] = (), busy_attempts: int = 1
    ) -> A:
        """Decide, write, dispatch, and answer.

        Args:
            alongside: writes of the caller, to be applied with those of the outcome.
            busy_attempts: how often the outcome is written before DynamoDB counts as busy.

        Raises:
            StoreError: nothing was written, or nobody knows: ``ConditionFailed`` if a write of ``alongside`` failed,
                ``Conflict`` if others were faster at each attempt.
        """
        outcome = self.write(decide, facts, alongside=alongside, busy_attempts=busy_attempts)
        if outcome.deliveries.operations:
            self._dispatch(outcome.deliveries)
        if isinstance(outcome.answer, Exception):
            raise outcome.answer
        return outcome.answer

    def write(
        self, decide: Decide[A], facts: Facts, *, alongside: Sequence[Operation] = (), busy_attempts: int = 1
    ) -> Outcome[A]:
        """Decide and write; the caller dispatches the deliveries. Raises: as ``carry_out``."""
        attempts: list[Outcome[A]] = []
        for number in range(ATTEMPTS):
            facts, outcome = self._decide(decide, facts)
            attempts.append(outcome)
            try:
                written = self._write(outcome, alongside, attempts)
            except ConditionFailed as failure:
                if failure.failed[0] >= len(outcome.operations):
                    raise
                facts = facts.after(outcome.operations, failure)
                self._wait(number)
            except Busy:
                if number + 1 >= busy_attempts:
                    raise
            else:
                if written.report is not None:
                    written.report()
                return written
        raise Conflict("the records kept changing")

    def _decide(self, decide: Decide[A], facts: Facts) -> tuple[Facts, Outcome[A]]:
        """The decision, and the facts on which it rests: it may ask for more items once."""
        try:
            return facts, decide(facts)
        except NotRead as more:
            facts = facts.with_items(more.keys, self._store.batch_get(more.keys))
        return facts, decide(facts)

    def _write(self, outcome: Outcome[A], alongside: Sequence[Operation], attempts: Sequence[Outcome[A]]) -> Outcome[A]:
        """Write an outcome; returns that of the attempt that was written. Raises: StoreError."""
        try:
            self._apply([*outcome.operations, *alongside], is_repeatable=outcome.is_repeatable)
        except ConditionFailed as failure:
            if failure.repeated and (own := self._find_own(attempts)) is not None:
                return own
            raise
        except NeverSent:
            raise
        except StoreUnavailable:
            if (own := self._find_own(attempts)) is None:
                raise
            return own
        return outcome

    def _apply(self, operations: Sequence[Operation], *, is_repeatable: bool) -> None:
        match operations:
            case []:
                return
            case [Put(table, item, condition)]:
                self._store.put(table, item, condition)
            case [Update() as update] if is_repeatable:
                self._update(update)
            case _:
                self._store.transact(operations)

    def _update(self, update: Update) -> None:
        """Make an update that may be made twice; a transaction of its own would conflict with others."""
        table, key, change = update.table, update.key, update.set
        try:
            self._store.update(table, key, set=change, remove=update.remove, add=update.add, condition=update.condition)
        except StoreUnavailable:
            self._store.transact([update])

    def _find_own(self, attempts: Sequence[Outcome[A]]) -> Outcome[A] | None:
        """The attempt that was written although its response was lost; ``None`` if none shows itself."""
        proofs = [(each, each.own_item) for each in attempts]
        shown = [(each, proof) for each, proof in proofs if proof is not None]
        try:
            items = self._store.batch_get([proof.key for _, proof in shown]) if shown else []
        except StoreError:
            log.exception("storage did not respond")
            return None
        found = zip(shown, items, strict=True)
        return next((each for (each, proof), item in found if item is not None and proof.is_own(item)), None)

    def _wait(self, number: int) -> None:
        """Wait before the next decision, but not the first time: what failed came with what is stored now."""
        if number:
            self._store.wait(number)


def try_to(action: Callable[[], A], failed: str, **members: Any) -> A | None:
    """Do what may be left undone: a storage error is logged as ``failed``, with ``members``."""
    try:
        return action()
    except StoreError:
        log.exception(failed, **members)
        return None
