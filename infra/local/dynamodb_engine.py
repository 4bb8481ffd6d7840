"""Runs a DynamoDB engine in a separate process. DynamoDB Local and dynoxide share this code."""

from __future__ import annotations

import socket
import tempfile
import time
from abc import ABC, abstractmethod
from http.client import HTTPException
from pathlib import Path
from typing import ClassVar, Self
from urllib.error import HTTPError
from urllib.request import urlopen

from infra.local.process import ChildProcess, guarded_command
from infra.local.stackfile import display_path

_READY_SECONDS = 120.0


class EngineFailed(Exception):
    """An engine could not be installed or started. The message contains the reason."""


class DynamoDBEngine(ABC):
    """A DynamoDB engine on its own port, with data in memory or in a folder. Leaving the ``with`` block stops it.

    Raises: EngineFailed, if the program is missing.
    """

    title: ClassVar[str]

    def __init__(self, data: Path | None = None) -> None:
        self._data = data
        program = self.program()
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port: int = probe.getsockname()[1]
        if data is not None:
            data.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed by ``stop``
        self._child = ChildProcess(guarded_command(*program, *self._options(self._port, data)), errors=self._errors)

    @staticmethod
    @abstractmethod
    def program() -> list[str]:
        """Return the program and its fixed arguments. Raises: EngineFailed, if the program is missing."""

    @staticmethod
    @abstractmethod
    def _options(port: int, data: Path | None) -> list[str]:
        """Return the remaining arguments of the command."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    @property
    def process_group(self) -> int:
        """Return the process group of the engine, for signals."""
        return self._child.pid

    def wait(self) -> str:
        """Wait until the engine is ready, and return its address. Raises: EngineFailed."""
        deadline = time.monotonic() + _READY_SECONDS
        while time.monotonic() < deadline and not self._child.has_ended():
            if is_dynamodb(self.url):
                return self.url
            time.sleep(0.02)
        raise EngineFailed(self._explain_failure())

    def has_ended(self) -> bool:
        return self._child.has_ended()

    def stop(self) -> None:
        self._child.stop()
        self._errors.close()

    def _explain_failure(self) -> str:
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        reason = f": {lines[-1].strip().removeprefix('error: ').rstrip('.')}" if lines else ""
        if self._data is None:
            return f"{self.title} did not start{reason}"
        return (
            f"{self.title} did not start{reason}; the data in {display_path(self._data)} is as it was: repair it, "
            "or start anew with `make run FRESH=1`, which removes it"
        )


def is_dynamodb(url: str) -> bool:
    """Return whether DynamoDB listens at the address. Each DynamoDB response has the header ``x-amzn-RequestId``."""
    try:
        with urlopen(url, timeout=5) as response:
            return "x-amzn-RequestId" in response.headers
    except HTTPError as refusal:
        return "x-amzn-RequestId" in refusal.headers
    except (OSError, HTTPException):
        return False
