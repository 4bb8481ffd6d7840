"""The error messages for an unavailable DynamoDB Local."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from infra.local import dynamodb_local
from infra.local.dynamodb_engine import EngineFailed


def test_processes_that_start_at_the_same_time_fetch_the_engine_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    maven, calls = tmp_path / "mvn", tmp_path / "calls"
    program = 'for each; do case $each in *Directory=*) mkdir -p "${each#*=}"; esac; done'
    maven.write_text(f"#!/bin/sh\necho call >>{calls}\n{program}\n")
    maven.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")

    with ThreadPoolExecutor() as processes:
        fetched = [*processes.map(dynamodb_local.fetch_engine, [tmp_path / "engine"] * 4)]

    assert fetched == [tmp_path / "engine"] * 4
    assert calls.read_text() == "call\n"


def test_a_missing_maven_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EngineFailed, match="no mvn on this machine"):
        dynamodb_local.fetch_engine(tmp_path / "engine")


def test_a_missing_java_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EngineFailed, match="needs Java 17 or later"):
        dynamodb_local.find_java()


def test_the_error_for_an_outdated_java_contains_the_java_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = tmp_path / "java"
    old.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n")
    old.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    with pytest.raises(EngineFailed, match=str(old)):
        dynamodb_local.find_java()
