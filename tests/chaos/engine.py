"""The storage and queues of a run, in simulated time: the emulator, with another DynamoDB where asked for.

The emulator may keep its state on a disk that is full at times.
"""

from __future__ import annotations

import os
import signal
import threading
import time

from infra.local.emulator import Emulator, EmulatorServer, load_moto
from infra.local.engines import DYNAMODB_ENGINES, ENGINES
from infra.local.message_queue import MessageQueue
from infra.local.resources import create_resources
from tests.chaos.filling_disk import FillingDisk
from tests.chaos.late_engine import LateAnswers
from tests.kit.emulator import install
from tests.kit.time import ManualClock

REGION = "eu-west-1"


class Engine:
    """Serves on this machine; ``environment`` leads boto3 there, in this process and in those of the workers."""

    def __init__(
        self, clock: ManualClock, late: LateAnswers, engine: str = ENGINES[0], disk: FillingDisk | None = None
    ) -> None:
        self._dynamodb = DYNAMODB_ENGINES[engine]() if engine in DYNAMODB_ENGINES else None
        self._disk = disk
        self._late = late
        emulator = disk.start() if disk else Emulator(load_moto(), now=clock.monotonic)
        self._emulator = late.of(emulator)
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
        create_resources(emulated=True, dynamodb_apart=self._dynamodb is not None)

    def restart_if_ended(self) -> None:
        """Start the emulator again from its file, if it ended because it could not be written."""
        if self._disk and self._disk.has_ended:
            self._emulator = self._server.emulator = self._late.of(self._disk.start())
            create_resources(emulated=True, dynamodb_apart=self._dynamodb is not None)

    def next_message(self, queue: str) -> float | None:
        """When a message of a queue can be received next, in Unix seconds; ``None`` when it has none."""
        return next_visible(self._emulator.sqs.queue(queue))

    def backlog(self, queue: str) -> int:
        """How many messages of a queue can be received now."""
        return self._emulator.sqs.queue(queue).count()[0]

    def freeze(self, seconds: float) -> None:
        """Have the DynamoDB engine, one of its own process, stand still for a while."""
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


def next_visible(queue: MessageQueue) -> float | None:
    """The earliest time at which a message can be received, which may be past; ``None`` if there is none."""
    messages = filter(None, map(queue.get, queue.ids()))
    return min((message.visible_at for message in messages), default=None)
