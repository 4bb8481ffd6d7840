"""The stack's engines: the bundled emulator, LocalStack or another endpoint, with or without a separate DynamoDB.

boto3's environment variables fully describe an engine, so the service, the initial data, the operator's command line
and the tests do not depend on the engine.
"""

from __future__ import annotations

import fcntl
import json
import re
import subprocess
import time
from collections.abc import Mapping, MutableMapping
from pathlib import Path
from typing import IO, Any
from urllib.error import HTTPError
from urllib.request import ProxyHandler, build_opener

from infra.local import dynoxide
from infra.local.dynamodb_engine import DynamoDBEngine, EngineFailed
from infra.local.dynamodb_local import DynamoDBLocal
from infra.local.process import ChildFailed, ChildProcess, python_command
from infra.local.stackfile import CREDENTIALS, SETTINGS, display_path, endpoints
from infra.repository import ROOT

REGION = "eu-west-1"
DYNAMODB_ENGINES: Mapping[str, type[DynamoDBEngine]] = {"dynoxide": dynoxide.Dynoxide, "dynamodb-local": DynamoDBLocal}
ENGINES = ("emulator", *DYNAMODB_ENGINES)
_FOLDERS = {"emulator": "emulator", "dynoxide": "dynoxide", "dynamodb-local": "dynamodb"}
_STATE, _LOCK = "emulator.sqlite3", "lock"

_FAKE_CREDENTIALS = {"AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local"}
_SHARED = ("AWS_DEFAULT_REGION", "AWS_REGION")
_HONOURED = ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_DYNAMODB")


class Engines:
    """The engines of a stack, which start when the object is created.

    Args:
        environ: the environment of the process; the engines' addresses are added to it.
        engine: one of ``ENGINES``.
        folder: the parent of the engines' data folders.
        fresh: whether to remove existing data first.

    Raises:
        EngineFailed: a required program is missing, the data is in use or cannot be removed.
    """

    def __init__(self, environ: MutableMapping[str, str], engine: str, folder: Path, *, fresh: bool = False) -> None:
        check_engine(engine)
        self._environ = environ
        self._engine = engine
        self._emulator: ChildProcess | None = None
        self._dynamodb: DynamoDBEngine | None = None
        self._lock: IO[str] | None = None
        if environ.get("LOCALSTACK") == "1":
            environ.setdefault("AWS_ENDPOINT_URL", localstack_address())
            self.kind = "localstack"
        else:
            self.kind = "endpoint" if "AWS_ENDPOINT_URL" in environ else engine
        for variable in _HONOURED:
            if not environ.get(variable, "http://").startswith(("http://", "https://")):
                raise EngineFailed(f"{variable} must begin with http:// or https://")
        region = environ.get("AWS_DEFAULT_REGION") or environ.get("AWS_REGION") or REGION
        environ.update({"AWS_DEFAULT_REGION": region, "AWS_REGION": region, "AWS_EC2_METADATA_DISABLED": "true"})
        _bypass_proxies(environ)
        self.is_emulated = "AWS_ENDPOINT_URL" not in environ
        self._use_credentials()
        address = self._environ.get("AWS_ENDPOINT_URL_DYNAMODB") or self._environ.get("AWS_ENDPOINT_URL") or ""
        name = re.sub("[^A-Za-z0-9]+", "-", address).strip("-") if engine == ENGINES[0] else ""
        self.data = folder / (name or _FOLDERS[engine]) if self.is_emulated or not name else None
        self.seed_file = self.data / "seed.json" if self.data else folder / f"seed-{name}.json"
        self._start(fresh)

    @property
    def has_own_dynamodb(self) -> bool:
        return self._dynamodb is not None or "AWS_ENDPOINT_URL_DYNAMODB" in self._environ

    @property
    def prefix(self) -> str | None:
        """Return the prefix of all resource names (``RESOURCE_PREFIX``). Return ``None`` if the names of the template
        are used.
        """
        return self._environ.get("RESOURCE_PREFIX")

    @property
    def dynamodb_engine(self) -> str | None:
        """Return the name of the separate DynamoDB engine: one of ``DYNAMODB_ENGINES`` or ``endpoint``. Return ``None``
        if there is no separate engine.
        """
        if self._dynamodb is not None:
            return self._engine
        return "endpoint" if self.has_own_dynamodb else None

    def explain_silence(self, address: str) -> str:
        """Return the error message for an engine that does not respond at ``address``."""
        if address == self._environ.get("AWS_ENDPOINT_URL_DYNAMODB", "").rstrip("/"):
            return f"nothing responds at {address} (AWS_ENDPOINT_URL_DYNAMODB): is DynamoDB running there?"
        return f"nothing responds at {address} (AWS_ENDPOINT_URL): is the engine running there?"

    def wait(self) -> None:
        """Wait until all engines are ready, and set their addresses in the environment. Raises: EngineFailed."""
        if self.kind == "localstack":
            check_localstack(self._environ["AWS_ENDPOINT_URL"].rstrip("/"), self.has_own_dynamodb)
        if self._emulator:
            self._environ["AWS_ENDPOINT_URL"] = _read_address(self._emulator)
        if self._dynamodb:
            self._environ["AWS_ENDPOINT_URL_DYNAMODB"] = self._dynamodb.wait()

    def environment(self) -> dict[str, str]:
        """Return the environment variables with which other processes use these engines. Fake credentials are included;
        real credentials are not.
        """
        names = (*_SHARED, *SETTINGS, *endpoints(self._environ))
        shared = {name: self._environ[name] for name in names if name in self._environ}
        fake = all(self._environ.get(name) == value for name, value in _FAKE_CREDENTIALS.items())
        return shared | (_FAKE_CREDENTIALS if fake else {})

    def has_failed(self, seconds: float = 0) -> bool:
        """Return whether an engine that this stack started has exited, or exits within ``seconds``."""
        deadline = time.monotonic() + seconds
        while not (has_failed := bool(self._ended_engines())) and time.monotonic() < deadline:
            time.sleep(0.05)
        return has_failed

    def _ended_engines(self) -> list[ChildProcess | DynamoDBEngine]:
        return [each for each in (self._emulator, self._dynamodb) if each and each.has_ended()]

    def failure(self, seconds: float = 0) -> str | None:
        """Return the reason why an engine of this stack exited. Return ``None`` if no engine exits within
        ``seconds``.
        """
        if not self.has_failed(seconds):
            return None
        first = self._ended_engines()[0]
        reason = first.last_line() if isinstance(first, ChildProcess) else ""
        return reason or "an engine has stopped unexpectedly, so the stack stops too"

    def stop(self) -> None:
        for engine in (self._emulator, self._dynamodb):
            if engine:
                engine.stop()
        if self._lock:
            self._lock.close()

    def _start(self, fresh: bool) -> None:
        if self.data is None:
            if fresh:
                raise EngineFailed("FRESH=1 removes the data of this stack's own engines; this engine is another's")
            return
        dynamodb = DYNAMODB_ENGINES.get(self._engine)
        if dynamodb:
            dynamodb.program()  # if it is missing, FRESH=1 has removed nothing
        self._lock = _lock(self.data)
        try:
            _prepare(self.data, fresh=fresh, has_keys=self.is_emulated)
            if self.is_emulated:
                command = python_command("infra.local.emulator", "--state", str(self.data / _STATE))
                self._emulator = ChildProcess(command, environ=self._environ, output=subprocess.PIPE, folder=ROOT)
            if dynamodb:
                self._dynamodb = dynamodb(self.data)
        except EngineFailed:
            self.stop()
            raise

    def _use_credentials(self) -> None:
        """Use fake credentials with the bundled emulator, so that real credentials never sign a call to the
        emulator.
        """
        self._environ.pop("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", None)
        if self.is_emulated:
            for name in (*CREDENTIALS, *(each for each in endpoints(self._environ) if each not in _HONOURED)):
                self._environ.pop(name, None)
            self._environ.update(_FAKE_CREDENTIALS)
        elif "AWS_PROFILE" not in self._environ:
            for name, value in _FAKE_CREDENTIALS.items():
                self._environ.setdefault(name, value)


def _lock(data: Path) -> IO[str]:
    """Lock a data folder, because two engines would corrupt its files. The lock is released when this process exits."""
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = (data / _LOCK).open("w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        raise EngineFailed(
            f"another stack uses the data in {display_path(data)}; "
            "stop it first, or give this one its own folder: CAUSEWAY_STACK_FILE=.local/second/stack.json"
        ) from None
    return lock


def _prepare(data: Path, *, fresh: bool, has_keys: bool) -> None:
    files = [file for file in data.iterdir() if file.name != _LOCK]
    if fresh:
        for file in files:
            file.unlink()
    elif has_keys and files and not (data / _STATE).exists():
        raise EngineFailed(
            f"the data in {display_path(data)} was created by an earlier version: "
            "start anew with `make run FRESH=1`, which removes it"
        )


def _read_address(emulator: ChildProcess) -> str:
    try:
        line = emulator.first_line()
    except ChildFailed as error:
        raise EngineFailed(f"the emulator {error}") from None
    if not line.startswith("http"):
        raise EngineFailed(line)
    return line


def choose_engine(environ: Mapping[str, str]) -> tuple[str, str]:
    """Choose the default engine of a stack. Return the engine and a message for the user, which may be empty.

    The default is dynoxide if the PATH has the tested version and ``environ`` specifies no running engine.
    """
    if environ.get("LOCALSTACK") == "1" or any(name in environ for name in _HONOURED):
        return ENGINES[0], ""
    version = dynoxide.installed_version()
    if version == dynoxide.VERSION:
        return "dynoxide", ""
    if version is None:
        return ENGINES[0], ""
    return ENGINES[0], (
        f"the dynoxide on the PATH is version {version}, not {dynoxide.VERSION}, so the built-in engine is used; "
        "`make install-dynoxide` installs the tested version"
    )


def check_engine(engine: str) -> None:
    """Check that an engine's name is known. Raises: EngineFailed, if it is unknown."""
    if engine not in ENGINES:
        raise EngineFailed(f"ENGINE must be one of {', '.join(ENGINES)}, not {engine!r}")


def _bypass_proxies(environ: MutableMapping[str, str]) -> None:
    for name in ("NO_PROXY", "no_proxy"):
        hosts = [host for host in environ.get(name, "").split(",") if host]
        environ[name] = ",".join(dict.fromkeys([*hosts, "127.0.0.1", "localhost"]))


HEALTH = "/_localstack/health"
SERVICES = ("cloudformation", "dynamodb", "kms", "secretsmanager", "sqs")
"""The AWS services that an engine must provide."""

_SECONDS = 30
_ABSENT = ("disabled", "error")


def localstack_address() -> str:
    """Return the address of LocalStack on this machine, as computed by LocalStack's client package."""
    from localstack_client import config

    return str(config.get_service_endpoint("dynamodb"))


def check_localstack(url: str, dynamodb_apart: bool = False) -> None:
    """Check the health document that LocalStack serves at ``url``.

    Raises:
        EngineFailed: there is no response, a different program responded, or a service is missing.
    """
    services = _services(url)
    needed = [name for name in SERVICES if not (dynamodb_apart and name == "dynamodb")]
    missing = [name for name in needed if services.get(name, _ABSENT[0]) in _ABSENT]
    if missing:
        raise EngineFailed(
            f"LocalStack at {url} runs without {', '.join(missing)}: its variable SERVICES must list "
            f"{','.join(needed)}, or be empty"
        )


def _services(url: str) -> Mapping[str, Any]:
    try:
        with build_opener(ProxyHandler({})).open(f"{url.rstrip('/')}{HEALTH}", timeout=_SECONDS) as answer:
            document = json.load(answer)
    except (HTTPError, ValueError):
        document = None
    except OSError:
        raise EngineFailed(f"nothing responds at {url} (LOCALSTACK=1): is LocalStack running?") from None
    services = document.get("services") if isinstance(document, dict) else None
    if not isinstance(services, dict):
        raise EngineFailed(f"the server at {url} (LOCALSTACK=1) is not LocalStack: it has no health document {HEALTH}")
    return services
