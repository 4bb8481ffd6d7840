"""DynamoDB Local: a real engine for behaviour that an emulator cannot prove.

Maven fetches it once, into ``.local/dynamodb-local``. The command starts an in-memory engine, runs another command
with ``AWS_ENDPOINT_URL_DYNAMODB`` set to its address, and stops the engine.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

from infra import command
from infra.local.process import ChildProcess, guarded_command
from infra.local.stackfile import ROOT

POM = ROOT / "infra" / "dynamodb-local" / "pom.xml"
INSTALLED = ROOT / ".local" / "dynamodb-local"
OLDEST_JAVA = 17

_MAIN = "software.amazon.dynamodb.services.local.main.ServerRunner"
_READY_SECONDS = 30.0


class EngineFailed(Exception):
    """DynamoDB Local could not be fetched or started; the message gives the reason."""


def fetch_engine(folder: Path = INSTALLED) -> Path:
    """Fetch the engine with Maven unless this version is present. Returns its folder. Raises: EngineFailed."""
    stamp = folder / "pom.sha256"
    wanted = hashlib.sha256(POM.read_bytes()).hexdigest()
    if stamp.exists() and stamp.read_text() == wanted:
        return folder
    maven = shutil.which("mvn")
    if maven is None:
        raise EngineFailed("DynamoDB Local is fetched with Maven, but there is no mvn on this machine")
    print("Fetching DynamoDB Local with Maven, once", file=sys.stderr, flush=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix="dynamodb-local-") as place:
        command = [maven, "-q", "-B", "-f", str(POM), "dependency:copy-dependencies", f"-DoutputDirectory={place}/lib"]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode:
            lines = [line for line in (result.stdout + result.stderr).splitlines() if "ERROR" in line]
            raise EngineFailed("Maven could not fetch DynamoDB Local: " + (lines or ["no reason was given"])[0])
        shutil.rmtree(folder, ignore_errors=True)
        (Path(place) / "lib").rename(folder)
    stamp.write_text(wanted)
    return folder


def find_java() -> str:
    """The path of a sufficiently new Java. Raises: EngineFailed."""
    found = shutil.which("java")
    if found is None:
        raise EngineFailed(f"DynamoDB Local needs Java {OLDEST_JAVA} or later, but there is no java on this machine")
    said = subprocess.run([found, "-version"], capture_output=True, text=True, check=False).stderr
    version = re.search(r'version "(\d+)', said)
    if version is None or int(version[1]) < OLDEST_JAVA:
        raise EngineFailed(f"DynamoDB Local needs Java {OLDEST_JAVA} or later, but this machine has {found}")
    return found


class DynamoDBLocal:
    """An engine on its own port, with its data in memory or in a folder."""

    def __init__(self, data: Path | None = None) -> None:
        program, folder = find_java(), fetch_engine()
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port: int = probe.getsockname()[1]
        place = ["-inMemory"]
        if data is not None:
            data.mkdir(mode=0o700, parents=True, exist_ok=True)
            place = ["-dbPath", str(data)]
        options = ["-port", str(self._port), "-sharedDb", "-disableTelemetry", *place]
        libraries = [f"-Djava.library.path={folder}", "-cp", f"{folder}/*"]
        self._child = ChildProcess(
            guarded_command(program, "-Xmx512m", *libraries, _MAIN, *options), errors=subprocess.DEVNULL
        )

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def wait(self) -> str:
        """Wait until the engine is ready. Returns its address. Raises: EngineFailed."""
        deadline = time.monotonic() + _READY_SECONDS
        while time.monotonic() < deadline and not self._child.has_ended():
            if _is_dynamodb(self.url):
                return self.url
            time.sleep(0.05)
        raise EngineFailed("DynamoDB Local did not start")

    def has_ended(self) -> bool:
        return self._child.has_ended()

    def stop(self) -> None:
        self._child.stop()


def _is_dynamodb(url: str) -> bool:
    """Whether DynamoDB is listening: only DynamoDB refuses an unsigned request with ``x-amzn-RequestId``."""
    try:
        urlopen(url, timeout=5).close()
    except HTTPError as refusal:
        return "x-amzn-RequestId" in refusal.headers
    except (OSError, HTTPException):
        return False
    return False


def main(arguments: list[str] | None = None) -> int:
    """Run a command with an in-memory engine. Returns its exit code."""
    parser = command.parser("infra.local.dynamodb_local", __doc__)
    parser.add_argument("command", nargs="+", help="what to run, after --")
    options = parser.parse_args(arguments)
    engine: DynamoDBLocal | None = None
    try:
        engine = DynamoDBLocal()
        environ = {**os.environ, "AWS_ENDPOINT_URL_DYNAMODB": engine.wait()}
        return subprocess.run(options.command, env=environ, check=False).returncode
    except EngineFailed as error:
        print(f"causeway: {error}.", file=sys.stderr)
        return 1
    finally:
        if engine:
            engine.stop()


if __name__ == "__main__":
    command.run(main)
