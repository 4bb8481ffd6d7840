"""Storage and queues of a run in simulated time, with two faults: late DynamoDB responses and a full disk."""

from __future__ import annotations

import os
import random
import re
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

from infra.local.emulator import Emulator, EmulatorServer, Environ, load_moto
from infra.local.emulator_state import EmulatorState, StateUnusable
from infra.local.engines import DYNAMODB_ENGINES, ENGINES
from infra.local.message_queue import MessageQueue
from infra.local.resources import create_resources
from infra.local.sqs import Answer, Sqs
from tests.kit.emulator import install
from tests.kit.time import ManualClock

REGION = "eu-west-1"
_LATE = 0.05
"""The fraction of DynamoDB writes whose response arrives only after the client's timeout."""
_TABLE = re.compile('"TableName": ?"([^"]+)"')
_WRITES = ("TransactWriteItems", "PutItem", "UpdateItem", "DeleteItem")
_FEWEST_SAVED = 40
"""The minimum number of saved calls between two disk-full faults."""
_LARGE = 10_000_000
_CHANGED_BY_RESTORE = (("moto.dynamodb.models", "DynamoDBBackend.create_table"), ("moto.kms.models", "Key"))
"""The parts of moto that are replaced when a state is restored."""


class LateAnswers:
    """Selects DynamoDB writes that succeed after the client has timed out, while ``is_active`` is true.

    ``count`` is the number of selected writes. Writes are selected by a seed, separately for each table. Reads and
    measurements are never selected, because they run in parallel and their order differs between runs.
    """

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self._writes: Counter[str] = Counter()
        self.is_active = False
        self.count = 0

    def draw(self, target: str, body: bytes) -> bool:
        """Return whether the client of the current call times out before the response."""
        if not self.is_active or not target.endswith(_WRITES):
            return False
        tables = " ".join(sorted(set(_TABLE.findall(body.decode()))))
        self._writes[tables] += 1
        is_drawn = random.Random(f"{self._seed}/{tables}/{self._writes[tables]}").random() < _LATE
        self.count += is_drawn
        return is_drawn


class _LateEmulator:
    """An emulator that closes the connection instead of sending a late response."""

    def __init__(self, emulator: Emulator, late: LateAnswers) -> None:
        self._emulator = emulator
        self._late = late

    @property
    def sqs(self) -> Sqs:
        return self._emulator.sqs

    def __call__(self, environ: Environ, body: bytes) -> Answer:
        answer = self._emulator(environ, body)
        if self._late.draw(environ.get("HTTP_X_AMZ_TARGET", ""), body):
            raise ConnectionAbortedError("the client has given up")
        return answer


class FillingDisk:
    """The emulator's file at ``path``, with disk-full faults.

    While ``is_active`` is true, ``times`` writes to the file fail; ``seed`` determines which writes fail. After a
    failed write the emulator ends, loses unsaved changes, and restarts from the file.

    Args:
        most: the largest number of saved calls between two failures.
        end_workers: kills the processes that use the emulator, as the end of a stack does.
        now: returns the time that determines message visibility.
    """

    def __init__(
        self, seed: str, path: Path, times: int, most: int, end_workers: Callable[[], None], now: Callable[[], float]
    ) -> None:
        self._draw = random.Random(seed)
        self._path = path
        self._times = times
        self._most = max(most, _FEWEST_SAVED)
        self._end_workers = end_workers
        self._now = now
        self._until_full = self._draw.randint(_FEWEST_SAVED, self._most)
        self._moto: list[tuple[Any, str, Any]] = []
        self._state: _State | None = None
        self.is_active = False
        self.has_ended = False
        path.unlink(missing_ok=True)

    def start(self) -> Emulator:
        """Start an emulator from the file. The state of the previous emulator in memory is lost."""
        application = load_moto()
        if self._state:
            self._state.discard()
        self._reset_moto()
        self.has_ended = False
        self._state = _State(self._path, self._is_full, self._stop)
        self._state.restore()
        return Emulator(application, self._state, self._now)

    def _reset_moto(self) -> None:
        if not self._moto:
            for module, name in _CHANGED_BY_RESTORE:
                kind, _, attribute = name.rpartition(".")
                owner = getattr(import_module(module), kind) if kind else import_module(module)
                self._moto.append((owner, attribute, getattr(owner, attribute)))
        for owner, attribute, original in self._moto:
            setattr(owner, attribute, original)
        import_module("moto.moto_api._internal.models").moto_api_backend.reset()

    def _is_full(self) -> bool:
        if not self.is_active or not self._times:
            return False
        self._until_full -= 1
        if self._until_full:
            return False
        self._times -= 1
        self._until_full = self._draw.randint(_FEWEST_SAVED, self._most)
        return True

    def _stop(self, error: StateUnusable) -> None:
        self.has_ended = True
        self._end_workers()
        raise ConnectionAbortedError(str(error))


class _State(EmulatorState):
    """An emulator state with a file that is full while ``is_full`` returns true. SQLite itself rejects the write."""

    def __init__(self, path: Path, is_full: Callable[[], bool], end: Callable[[StateUnusable], object]) -> None:
        super().__init__(path, end)
        self._is_full = is_full

    def discard(self) -> None:
        """Discard uncommitted changes, as in a process that was killed."""
        self._file.close()

    def _write(self, changes: Iterable[tuple[str, str, str, str | None]]) -> None:
        if self._is_full():
            self._file.execute("PRAGMA max_page_count = 1")  # no more than it has
            changes = [*changes, ("filler", "", "", "x" * _LARGE)]
        super()._write(changes)


class Engine:
    """The emulator, with a separate DynamoDB engine if ``engine`` is set. ``environment`` contains both endpoints."""

    def __init__(
        self, clock: ManualClock, late: LateAnswers, engine: str = ENGINES[0], disk: FillingDisk | None = None
    ) -> None:
        self._dynamodb = DYNAMODB_ENGINES[engine]() if engine in DYNAMODB_ENGINES else None
        self._late, self._disk = late, disk
        self._emulator = _LateEmulator(disk.start() if disk else Emulator(load_moto(), now=clock.monotonic), late)
        self._server = EmulatorServer(self._emulator)
        install()
        threading.Thread(target=self._server.serve_forever, daemon=True, name="emulator").start()
        self.environment = {
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_DEFAULT_REGION": REGION,
            "AWS_REGION": REGION,
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self._server.server_port}",
            "STAGE": "local",
        }
        if self._dynamodb:
            self.environment["AWS_ENDPOINT_URL_DYNAMODB"] = self._dynamodb.wait()
        os.environ.update(self.environment)
        self._create_resources()

    def restart_if_ended(self) -> None:
        if self._disk and self._disk.has_ended:
            self._emulator = self._server.emulator = _LateEmulator(self._disk.start(), self._late)
            self._create_resources()

    def next_message(self, queue: str) -> float | None:
        return next_visible(self._emulator.sqs.queue(queue))

    def count_receivable(self, queue: str) -> int:
        return self._emulator.sqs.queue(queue).count()[0]

    def freeze(self, seconds: float) -> None:
        assert self._dynamodb is not None
        os.killpg(self._dynamodb.process_group, signal.SIGSTOP)
        try:
            time.sleep(seconds)
        finally:
            os.killpg(self._dynamodb.process_group, signal.SIGCONT)

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        if self._dynamodb:
            self._dynamodb.stop()

    def _create_resources(self) -> None:
        create_resources(emulated=True, dynamodb_apart=self._dynamodb is not None)


def next_visible(queue: MessageQueue) -> float | None:
    """Return the earliest time at which a message can be received, or ``None`` if the queue is empty.

    The time can be in the past.
    """
    messages = filter(None, map(queue.get, queue.ids()))
    return min((message.visible_at for message in messages), default=None)
