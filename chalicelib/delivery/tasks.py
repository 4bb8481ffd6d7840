"""Tasks: work that a request queues for a worker when storage cannot record the work.

The message of a task in the queue of deliveries contains all data that the worker needs, encrypted. All other messages
in the queue contain the id of a delivery. A task may arrive twice, and is retried until it succeeds, like any message
in the queue.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping

from chalicelib.foundation import jsontext, log
from chalicelib.foundation.aws.queues import Queue
from chalicelib.foundation.crypto.keyring import Vault

Handlers = Mapping[str, Callable[[str], None]]
"""A mapping from each kind of task to the function that carries it out with the task's details."""


class Tasks:
    """Queues and carries out tasks. ``handlers`` is called when the first task is carried out."""

    def __init__(self, vault: Vault, queue: Queue, handlers: Callable[[], Handlers]) -> None:
        self._vault = vault
        self._queue = queue
        self._handlers = handlers

    def send(self, kind: str, details: str) -> None:
        """Queue a task. Raises: AwsError, if the queue or the key service does not respond."""
        sealed = base64.b64encode(self._vault.seal(details, _context(kind))).decode()
        self._queue.send(jsontext.dumps({"task": kind, "request_id": log.request_id(), "sealed": sealed}))

    def carry_out(self, message: str) -> bool:
        """Carry out a task. Return ``False`` if the message is not a task. The queue retries the task after any handler
        error.
        """
        if not is_task(message):
            return False
        task = jsontext.loads(message)
        log.bind(request_id=task["request_id"], task=task["task"])
        details = self._vault.unseal(base64.b64decode(task["sealed"]), _context(task["task"]))
        self._handlers()[task["task"]](details)
        return True


def is_task(message: str) -> bool:
    """Whether a message is a task and not the id of a delivery."""
    return message.startswith("{")


def _context(kind: str) -> str:
    return f"tasks/{kind}"
