"""The error messages for an unavailable DynamoDB Local."""

from pathlib import Path

import pytest

from infra.local import dynamodb_local
from infra.local.dynamodb_engine import EngineFailed


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
