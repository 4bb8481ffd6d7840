"""Implements the SQS calls that send, receive and delete messages. moto handles only the queues, because it would scan
the whole queue in each message call.

The calls use a separate lock, so that calls for messages and calls for tables never wait for each other. Each call is
saved before it is executed. Only the messages that the call adds or removes are saved.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from infra.local.message_queue import Message, MessageQueue

Answer = tuple[str, list[tuple[str, str]], bytes]
Request = Mapping[str, Any]
ACCOUNT = "123456789012"

LONGEST_WAIT = 20
_TARGET = "AmazonSQS."
_LARGEST_BATCH = 10
_LONGEST_DELAY = 900
_LONGEST_VISIBILITY = 12 * 3600
_COUNTS = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible", "ApproximateNumberOfMessagesDelayed")


class SavedMessages(Protocol):
    """Persistent storage for messages."""

    def messages(self, queue: str) -> Sequence[tuple[str, str]]:
        """Return the ids and texts of a queue's messages."""

    def record_messages(self, changes: Sequence[tuple[str, str, str | None]]) -> None:
        """Save changes: queue, id and text. ``None`` removes a message."""


class SqsError(Exception):
    """A call that SQS refuses. It has the error code of the JSON protocol and, if that differs, the code of the query
    protocol.
    """

    def __init__(self, code: str, message: str, query_code: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.query_code = query_code or code


class Sqs:
    """The messages of all queues that moto has created.

    Args:
        saved: the storage of messages; by default, messages are only in memory.
        now: returns the time at which messages become visible.
    """

    def __init__(self, saved: SavedMessages | None = None, now: Callable[[], float] = time.time) -> None:
        self._saved = saved
        self._now = now
        self._lock = threading.Lock()
        self._queues: dict[str, tuple[Any, MessageQueue]] = {}
        self._numbers = itertools.count()
        self._calls: Mapping[str, Callable[[Any, MessageQueue, Request], dict[str, Any]]] = {
            "SendMessage": self._send_message,
            "SendMessageBatch": self._send_message_batch,
            "ReceiveMessage": self._receive_message,
            "DeleteMessage": self._delete_message,
            "DeleteMessageBatch": self._delete_message_batch,
            "ChangeMessageVisibility": self._change_message_visibility,
            "ChangeMessageVisibilityBatch": self._change_message_visibility_batch,
            "GetQueueAttributes": self._get_queue_attributes,
            "PurgeQueue": self._purge_queue,
        }

    def handles(self, target: str) -> bool:
        """Return whether the call ``target`` (for example ``AmazonSQS.SendMessage``) concerns messages."""
        return target.startswith(_TARGET) and target.removeprefix(_TARGET) in self._calls

    def answer(self, target: str, body: bytes) -> Answer:
        """Execute a call and return its response."""
        request = json.loads(body or b"{}")
        try:
            with self._lock:
                settings, queue = self._find(request.get("QueueUrl", "").rpartition("/")[2])
                answer = self._calls[target.removeprefix(_TARGET)](settings, queue, request)
        except SqsError as error:
            refusal = {"__type": f"com.amazonaws.sqs#{error.code}", "message": str(error)}
            return _response("400 Bad Request", refusal, [("x-amzn-query-error", f"{error.query_code};Sender")])
        return _response("200 OK", answer)

    def queue(self, name: str) -> MessageQueue:
        """Return the messages of a queue. Raises: SqsError."""
        with self._lock:
            return self._find(name)[1]

    # -- calls

    def _send_message(self, settings: Any, queue: MessageQueue, request: Request) -> dict[str, Any]:
        message = self._new_message(settings, request)
        self._save((settings.name, message.message_id, _text(message)))
        queue.add(message)
        return _sent(message)

    def _send_message_batch(self, settings: Any, queue: MessageQueue, request: Request) -> dict[str, Any]:
        messages = {each["Id"]: self._new_message(settings, each) for each in _entries(request)}
        self._save(*((settings.name, each.message_id, _text(each)) for each in messages.values()))
        for message in messages.values():
            queue.add(message)
        return {"Successful": [{"Id": number, **_sent(message)} for number, message in messages.items()], "Failed": []}

    def _receive_message(self, settings: Any, queue: MessageQueue, request: Request) -> dict[str, Any]:
        """Take visible messages. If no message is visible, release the lock and wait until a message becomes
        visible.
        """
        count = _number(request, "MaxNumberOfMessages", 1, 1, _LARGEST_BATCH)
        seconds = _number(request, "WaitTimeSeconds", settings.receive_message_wait_time_seconds, 0, LONGEST_WAIT)
        hidden = _number(request, "VisibilityTimeout", settings.visibility_timeout, 0, _LONGEST_VISIBILITY)
        deadline = time.monotonic() + seconds
        found = self._take(settings, queue, count, hidden)
        while not found and queue.wait(deadline - time.monotonic()):
            found = self._take(settings, queue, count, hidden)
        names = {*request.get("AttributeNames", ()), *request.get("MessageSystemAttributeNames", ())}
        return {"Messages": [_received(each, names, request) for each in found]} if found else {}

    def _delete_message(self, settings: Any, queue: MessageQueue, request: Request) -> dict[str, Any]:
        self._remove(settings, queue, [_message_id(request)])
        return {}

    def _delete_message_batch(self, settings: Any, queue: MessageQueue, request: Request) -> dict[str, Any]:
        entries = _entries(request)
        self._remove(settings, queue, [_message_id(each) for each in entries])
        return {"Successful": [{"Id": each["Id"]} for each in entries], "Failed": []}

    def _change_message_visibility(self, settings: Any, queue: MessageQueue, request: Request) -> dict[str, Any]:
        hidden = _number(request, "VisibilityTimeout", 0, 0, _LONGEST_VISIBILITY)
        message = queue.get(_message_id(request))
        if message is None:
            raise SqsError("InvalidParameterValue", "The message does not exist or is not available.")
        queue.hide(message, self._now() + hidden)
        return {}

    def _change_message_visibility_batch(self, settings: Any, queue: MessageQueue, request: Request) -> dict[str, Any]:
        entries = _entries(request)
        for each in entries:
            self._change_message_visibility(settings, queue, each)
        return {"Successful": [{"Id": each["Id"]} for each in entries], "Failed": []}

    def _get_queue_attributes(self, settings: Any, queue: MessageQueue, request: Request) -> dict[str, Any]:
        names = request.get("AttributeNames", ())
        known = {**settings.attributes, **dict(zip(_COUNTS, queue.count(), strict=True))}
        if unknown := {*names} - {*known, *settings.FIFO_ATTRIBUTES, *settings.KMS_ATTRIBUTES, "All"}:
            raise SqsError("InvalidAttributeName", f"Unknown Attribute {min(unknown)}.")
        wanted = known if "All" in names else {name: known[name] for name in names if name in known}
        return {"Attributes": {name: str(value) for name, value in wanted.items() if value is not None}}

    def _purge_queue(self, settings: Any, queue: MessageQueue, request: Request) -> dict[str, Any]:
        self._remove(settings, queue, queue.ids())
        return {}

    # -- internals

    def _find(self, name: str) -> tuple[Any, MessageQueue]:
        settings = _settings(name)
        known, former = self._queues.get(name, (None, None))
        if former is not None and known is settings:
            return settings, former
        queue = MessageQueue(self._lock, self._now)
        if former is None:
            for message in self._restored(name):
                queue.add(message)
        else:
            self._save(*((name, each, None) for each in former.ids()))
        self._queues[name] = settings, queue
        return settings, queue

    def _restored(self, name: str) -> list[Message]:
        saved = self._saved.messages(name) if self._saved else ()
        return sorted((_message(*each) for each in saved), key=lambda message: message.sent_at)

    def _new_message(self, settings: Any, request: Request) -> Message:
        body = request.get("MessageBody", "")
        if not body or len(body.encode()) > settings.maximum_message_size:
            raise SqsError(
                "InvalidParameterValue", f"A message has 1 to {settings.maximum_message_size} bytes of UTF-8."
            )
        now, delay = self._now(), _number(request, "DelaySeconds", settings.delay_seconds, 0, _LONGEST_DELAY)
        message_id = f"{next(self._numbers):08x}{str(uuid.uuid4())[8:]}"  # saved messages come back in this order
        return Message(message_id, body, now, now + delay, request.get("MessageAttributes") or {})

    def _take(self, settings: Any, queue: MessageQueue, count: int, hidden: int) -> list[Message]:
        """Take up to ``count`` visible messages. A message that was received too often is moved to the dead-letter
        queue.
        """
        taken: list[Message] = []
        now = self._now()
        while len(taken) < count and (message := queue.take()):
            if message.sent_at + settings.message_retention_period < now:
                self._remove(settings, queue, [message.message_id])
            elif settings.redrive_policy and message.received >= settings.redrive_policy["maxReceiveCount"]:
                self._bury(settings, queue, message)
            else:
                message.received += 1
                message.first_received_at = message.first_received_at or now
                taken.append(message)
        for message in taken:
            queue.hide(message, now + hidden)
        return taken

    def _bury(self, settings: Any, queue: MessageQueue, message: Message) -> None:
        dead, others = self._find(settings.dead_letter_queue.name)
        self._save((settings.name, message.message_id, None), (dead.name, message.message_id, _text(message)))
        queue.remove(message)
        others.add(message)

    def _remove(self, settings: Any, queue: MessageQueue, ids: Sequence[str]) -> None:
        found = [message for each in ids if (message := queue.get(each))]
        self._save(*((settings.name, each.message_id, None) for each in found))
        for message in found:
            queue.remove(message)

    def _save(self, *changes: tuple[str, str, str | None]) -> None:
        if self._saved and changes:
            self._saved.record_messages(changes)


def _settings(name: str) -> Any:
    from moto.backends import get_backend

    backends: Any = get_backend("sqs")
    for backend in list(backends[ACCOUNT].values()):
        if name in backend.queues:
            return backend.queues[name]
    raise SqsError(
        "QueueDoesNotExist", "The specified queue does not exist.", "AWS.SimpleQueueService.NonExistentQueue"
    )


def _text(message: Message) -> str:
    times = {"delayed_until": message.visible_at * 1000, "sent_at": message.sent_at}
    return json.dumps({"body": message.body, **times, "attributes": message.attributes})


def _message(message_id: str, text: str) -> Message:
    """Create a message from its saved text. The message is visible unless it is delayed. Messages saved by earlier
    releases lack some members.
    """
    message = json.loads(text)
    delayed_until = message["delayed_until"] / 1000
    return Message(
        message_id, message["body"], message.get("sent_at", time.time()), delayed_until, message.get("attributes", {})
    )


def _sent(message: Message) -> dict[str, Any]:
    return {"MessageId": message.message_id, "MD5OfMessageBody": _md5(message.body)}


def _received(message: Message, names: set[str], request: Request) -> dict[str, Any]:
    known = {
        "SenderId": ACCOUNT,
        "SentTimestamp": str(int(message.sent_at * 1000)),
        "ApproximateReceiveCount": str(message.received),
        "ApproximateFirstReceiveTimestamp": str(int((message.first_received_at or 0) * 1000)),
    }
    attributes = {name: value for name, value in known.items() if names & {"All", name}}
    wanted = request.get("MessageAttributeNames", ())
    own = {name: value for name, value in message.attributes.items() if {"All", ".*", name} & {*wanted}}
    return {
        "MessageId": message.message_id,
        "ReceiptHandle": f"{message.message_id}#{message.received}",
        "MD5OfBody": _md5(message.body),
        "Body": message.body,
        **({"Attributes": attributes} if attributes else {}),
        **({"MessageAttributes": own} if own else {}),
    }


def _md5(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


def _message_id(request: Request) -> str:
    message_id, separator, _ = str(request.get("ReceiptHandle", "")).partition("#")
    if not separator:
        raise SqsError("ReceiptHandleIsInvalid", "The input receipt handle is invalid.")
    return message_id


def _entries(request: Request) -> Sequence[Request]:
    entries: Sequence[Request] = request.get("Entries", ())
    ids = [each.get("Id") for each in entries]
    if not 0 < len(entries) <= _LARGEST_BATCH or len({*ids}) < len(ids):
        raise SqsError("InvalidParameterValue", f"A batch has 1 to {_LARGEST_BATCH} entries, each with its own Id.")
    return entries


def _number(request: Request, name: str, default: Any, least: int, most: int) -> int:
    value = int(default if request.get(name) is None else request[name])
    if not least <= value <= most:
        raise SqsError("InvalidParameterValue", f"Value {value} for parameter {name} is not from {least} to {most}.")
    return value


def _response(status: str, body: Mapping[str, Any], more: Sequence[tuple[str, str]] = ()) -> Answer:
    headers = [("Content-Type", "application/x-amz-json-1.0"), ("x-amzn-RequestId", str(uuid.uuid4())), *more]
    return status, headers, json.dumps(body).encode()
