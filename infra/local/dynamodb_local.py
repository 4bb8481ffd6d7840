"""DynamoDB Local, the engine published by Amazon, for tests of behaviour that an emulator cannot verify.

Maven downloads the engine once into ``.local/dynamodb-local``.
"""

from __future__ import annotations

import fcntl
import hashlib
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from infra.local.dynamodb_engine import DynamoDBEngine, EngineFailed
from infra.repository import ROOT

POM = ROOT / "infra" / "local" / "pom.xml"
INSTALLED = ROOT / ".local" / "dynamodb-local"
OLDEST_JAVA = 17

_SHORT_LIVED = ("-Xmx512m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""Java options for short test runs: fast compilation, and garbage collection in a single thread."""
_MAIN = "software.amazon.dynamodb.services.local.main.ServerRunner"


def fetch_engine(folder: Path = INSTALLED) -> Path:
    """Fetch the engine with Maven unless this version is present. Returns its folder. Raises: EngineFailed.

    Of processes that start at the same time one fetches, and the others wait: a folder in use is never replaced.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_name(f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        stamp = folder / "pom.sha256"
        wanted = hashlib.sha256(POM.read_bytes()).hexdigest()
        if not stamp.exists() or stamp.read_text() != wanted:
            _fetch(folder)
            stamp.write_text(wanted)
    return folder


def _fetch(folder: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise EngineFailed("DynamoDB Local is fetched with Maven, but there is no mvn on this machine")
    print("Fetching DynamoDB Local with Maven, once", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix="dynamodb-local-") as place:
        command = [maven, "-q", "-B", "-f", str(POM), "dependency:copy-dependencies", f"-DoutputDirectory={place}/lib"]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode:
            lines = [line for line in (result.stdout + result.stderr).splitlines() if "ERROR" in line]
            raise EngineFailed("Maven could not fetch DynamoDB Local: " + (lines or ["no reason was given"])[0])
        shutil.rmtree(folder, ignore_errors=True)
        (Path(place) / "lib").rename(folder)


def find_java() -> str:
    """Return the path of a Java executable of version ``OLDEST_JAVA`` or later. Raises: EngineFailed."""
    found = shutil.which("java")
    if found is None:
        raise EngineFailed(f"DynamoDB Local needs Java {OLDEST_JAVA} or later, but there is no java on this machine")
    said = subprocess.run([found, "-version"], capture_output=True, text=True, check=False).stderr
    version = re.search(r'version "(\d+)', said)
    if version is None or int(version[1]) < OLDEST_JAVA:
        raise EngineFailed(f"DynamoDB Local needs Java {OLDEST_JAVA} or later, but this machine has {found}")
    return found


class DynamoDBLocal(DynamoDBEngine):
    title = "DynamoDB Local"

    @staticmethod
    def program() -> list[str]:
        java, folder = find_java(), fetch_engine()
        return [java, *_SHORT_LIVED, f"-Djava.library.path={folder}", "-cp", f"{folder}/*", _MAIN]

    @staticmethod
    def _options(port: int, data: Path | None) -> list[str]:
        place = ["-dbPath", str(data)] if data else ["-inMemory"]
        return ["-port", str(port), "-sharedDb", "-disableTelemetry", *place]
