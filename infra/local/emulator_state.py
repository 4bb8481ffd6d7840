"""The emulator's state on disk: tables, queues, secrets and key material in one SQLite file.

After each request that changes data, the difference is committed before the response is sent. Confirmed changes are
kept even if the emulator is killed, and tables, keys and queues are always consistent. If a commit fails, the emulator
must exit without a further response, because moto has applied changes that the file lacks. Stored records are encrypted
with a data key. The data key is stored in a secret and encrypted with a KMS key, so the secret and the KMS key are
required to read the records.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import json
import os
import secrets
import sqlite3
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

from infra.local.moto_patches import attribute_value
from infra.local.stackfile import display_path
from infra.local.transaction_tokens import VALID_SECONDS, Completed, tokens_of

ACCOUNT = "123456789012"
VERSION = 1
"""The version of the file format. Files with a later version are refused."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS entries (
    kind TEXT NOT NULL, place TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (kind, place, key)
) WITHOUT ROWID
"""
_DYNAMODB, _SECRETS = "DynamoDB_20120810.", "secretsmanager."
_TRANSACTION = "TransactWriteItems"
_READING = ("Get", "List", "Describe", "Query", "Scan", "BatchGet", "TransactGet")
Key = dict[str, Any]


class StateUnusable(Exception):
    """The file is unusable or cannot be written. The message contains the remedy. The file is unchanged."""


def _end(error: StateUnusable) -> NoReturn:
    """Print the reason and exit the emulator process. Called during a request."""
    with contextlib.suppress(OSError):
        print(error, flush=True)
    os._exit(1)


class EmulatorState:
    """The state in the file ``path`` of a private folder, which is created if missing.

    ``end`` is called if a change cannot be written, before any lock is released. By default, ``end`` exits the process.

    Raises:
        StateUnusable.
    """

    def __init__(self, path: Path, end: Callable[[StateUnusable], object] = _end) -> None:
        self._path = path
        self._end = end
        self._tokens: deque[tuple[float, str, str]] = deque()
        self._writing = threading.Lock()  # messages are saved beside tables
        try:
            self._file = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
            path.chmod(0o600)
            self._open()
        except (OSError, sqlite3.OperationalError) as error:
            raise self._not_written(error) from None
        except sqlite3.DatabaseError:
            raise StateUnusable(f"{display_path(path)} is damaged: {_REMEDY}") from None

    def _open(self) -> None:
        (version,) = self._file.execute("PRAGMA user_version").fetchone()
        if version > VERSION:
            raise StateUnusable(
                f"{display_path(self._path)} was written by a later release: use that release again, or {_FRESH}"
            )
        self._file.execute("PRAGMA journal_mode = WAL")
        self._file.execute("PRAGMA synchronous = NORMAL")
        self._file.execute(_SCHEMA)
        self._file.execute(f"PRAGMA user_version = {VERSION}")
        ((found,),) = self._file.execute("PRAGMA quick_check(1)").fetchall()
        if found != "ok":
            raise sqlite3.DatabaseError(found)

    def restore(self) -> None:
        """Restore the secrets, and patch moto so that keys and tables are restored when they are created."""
        _derive_keys(bytes.fromhex(self._seed()))
        for region, name, value in self._rows("secret"):
            _backend("secretsmanager", region).create_secret(
                name=name,
                secret_string=value,
                secret_binary=None,
                description=None,
                tags=None,
                kms_key_id=None,
                client_request_token=None,
                replica_regions=[],
                force_overwrite=False,
            )
        self._restore_tokens()
        _after_creation("moto.dynamodb.models", "DynamoDBBackend.create_table", self._fill_table)

    def record_call(self, target: str, body: bytes) -> None:
        """Save the changes of the call ``target`` (for example ``DynamoDB_20120810.PutItem``). ``body`` is the call's
        body.
        """
        service, _, action = target.rpartition(".")
        if action.startswith(_READING):
            return
        changes: list[tuple[str, str, str, str | None]] = []
        if f"{service}." == _DYNAMODB:
            request = json.loads(body)
            changes = [_item_change(table, key) for table, key in _touched(action, request)]
            changes += self._token_changes(request) if action == _TRANSACTION else ()
        elif f"{service}." == _SECRETS:
            changes = [*_secret_changes()]
        if changes:
            with self._writing:
                self._write(changes)

    def messages(self, queue: str) -> list[tuple[str, str]]:
        """Return the ids and texts of a queue's messages."""
        with self._writing:
            return [(message_id, text) for _, message_id, text in self._rows("message", queue)]

    def record_messages(self, changes: Iterable[tuple[str, str, str | None]]) -> None:
        """Save messages: queue, id and text. ``None`` removes a message."""
        with self._writing:
            self._write([("message", *change) for change in changes])

    def _write(self, changes: Iterable[tuple[str, str, str, str | None]]) -> None:
        try:
            self._file.execute("BEGIN")
            for *place, value in changes:
                if value is None:
                    self._file.execute("DELETE FROM entries WHERE kind = ? AND place = ? AND key = ?", place)
                else:
                    self._file.execute("INSERT OR REPLACE INTO entries VALUES (?, ?, ?, ?)", (*place, value))
            self._file.execute("COMMIT")
        except sqlite3.Error as error:
            failure = self._not_written(error)
            self._end(failure)
            raise failure from None

    def _not_written(self, error: Exception) -> StateUnusable:
        return StateUnusable(
            f"{display_path(self._path)} cannot be written ({error}), and keeps what was confirmed until now: "
            "make room on the disk, and start again"
        )

    def _rows(self, kind: str, place: str | None = None) -> list[tuple[str, str, str]]:
        where, values = ("", (kind,)) if place is None else (" AND place = ?", (kind, place))
        return self._file.execute(f"SELECT place, key, value FROM entries WHERE kind = ?{where}", values).fetchall()  # noqa: S608 - no value is part of it

    def _seed(self) -> str:
        if not self._rows("seed"):
            self._write([("seed", "", "", secrets.token_hex(32))])
        return self._rows("seed")[0][2]

    def _fill_table(self, table: Any) -> None:
        from moto.dynamodb.exceptions import MockValidationException

        keys = {each for each in (table.hash_key_attr, table.range_key_attr) if each}
        for _, _, text in self._rows("item", table.name):
            item = {name: _stored_value(value) for name, value in json.loads(text).items()}
            if not keys <= item.keys():
                raise MockValidationException(f"the stored table {table.name} has another key: {_FRESH}")
            table.put_item(item)

    def _token_changes(self, request: Mapping[str, Any]) -> Iterator[tuple[str, str, str, str | None]]:
        """Return the changes of transaction tokens, which are stored with the items and removed after expiry."""
        while self._tokens and self._tokens[0][0] <= time.time() - VALID_SECONDS:
            _, region, expired = self._tokens.popleft()
            yield "token", region, expired, None
        token, backend = request.get("ClientRequestToken"), _backend_of(next(_touched(_TRANSACTION, request))[0])
        if token and (completed := tokens_of(backend).completed(token)):
            self._tokens.append((completed.at, backend.region_name, token))
            yield "token", backend.region_name, token, json.dumps(completed)

    def _restore_tokens(self) -> None:
        found = [(Completed(*json.loads(text)), region, token) for region, token, text in self._rows("token")]
        for completed, region, token in sorted(found, key=lambda each: each[0].at):
            tokens_of(_backend("dynamodb", region)).restore(token, completed)
            self._tokens.append((completed.at, region, token))


_FRESH = "start anew with `make run FRESH=1`, which removes it"
_REMEDY = f"restore a copy of it, or {_FRESH}"


def _touched(action: str, request: Mapping[str, Any]) -> Iterator[tuple[str, Key]]:
    if action == _TRANSACTION:
        for (operation,) in (each.values() for each in request["TransactItems"]):
            yield operation["TableName"], operation.get("Key") or operation.get("Item") or {}
    elif action == "BatchWriteItem":
        for table, operations in request["RequestItems"].items():
            for (operation,) in (each.values() for each in operations):
                yield table, operation.get("Key") or operation["Item"]
    elif action in ("PutItem", "UpdateItem", "DeleteItem"):
        yield request["TableName"], request.get("Key") or request["Item"]


def _item_change(name: str, attributes: Key) -> tuple[str, str, str, str | None]:
    """Return the change that makes the stored item equal to the table's item."""
    from moto.dynamodb.models.dynamo_type import DynamoType

    table = _backend_of(name).tables[name]
    key = [attributes[each] for each in (table.hash_key_attr, table.range_key_attr) if each]
    item = table.get_item(*map(DynamoType, key))
    value = item and json.dumps({each: attribute_value(value) for each, value in item.attrs.items()})
    return "item", name, json.dumps(key), value or None


def _stored_value(value: Any) -> dict[str, Any]:
    """Convert an attribute value to moto's form. Binary values are bytes, for comparison in conditions."""
    ((kind, content),) = value.items()
    match kind:
        case "B":
            return {kind: base64.b64decode(content)}
        case "M":
            return {kind: {name: _stored_value(inner) for name, inner in content.items()}}
        case "L":
            return {kind: [_stored_value(inner) for inner in content]}
    return {kind: content}


def _secret_changes() -> Iterator[tuple[str, str, str, str | None]]:
    for backend in _backends("secretsmanager"):
        for secret in backend.secrets.values():
            version = secret.versions.get(secret.default_version_id) or {}
            if (value := version.get("secret_string")) is not None:
                yield "secret", backend.region_name, secret.name, value


def _backend(service: str, region: str) -> Any:
    from moto.backends import get_backend

    backends: Any = get_backend(service)  # type: ignore[call-overload]
    return backends[ACCOUNT][region]


def _backends(service: str) -> list[Any]:
    from moto.backends import get_backend

    backends: Any = get_backend(service)  # type: ignore[call-overload]
    return list(backends[ACCOUNT].values())


def _backend_of(table: str) -> Any:
    (found,) = [backend for backend in _backends("dynamodb") if table in backend.tables]
    return found


def _after_creation(module: str, method: str, fill: Callable[[Any], None]) -> None:
    """Patch a method of moto that creates objects, so that the saved state is added to the result."""
    from importlib import import_module

    owner, _, name = method.partition(".")
    kind = getattr(import_module(module), owner)
    real = getattr(kind, name)

    def create(*arguments: Any, **options: Any) -> Any:
        made = real(*arguments, **options)
        fill(made)
        return made

    setattr(kind, name, create)


def _derive_keys(seed: bytes) -> None:
    """Patch moto so that the material and id of each KMS key are derived from the seed and the key's description."""
    from moto.kms import models

    class Key(models.Key):
        __module__ = models.__name__  # moto derives the service from it

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self.key_material = hmac.digest(seed, self.description.encode(), hashlib.sha256)
            self.id = str(uuid.UUID(bytes=hashlib.sha256(self.key_material).digest()[:16], version=4))
            self.arn = f"{self.arn.rpartition('/')[0]}/{self.id}"

    models.Key = Key  # type: ignore[misc]
