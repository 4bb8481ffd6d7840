"""A secret is read back unchanged. Two concurrent writers cannot overwrite each other's values."""

import boto3
import pytest

from chalicelib.foundation.aws.errors import ErrorResponse, SecretChanged
from chalicelib.foundation.aws.secrets import Secrets
from chalicelib.foundation.identifiers import new_id

pytestmark = pytest.mark.usefixtures("resources")


@pytest.fixture
def name() -> str:
    made: str = boto3.client("secretsmanager").create_secret(Name=f"test-{new_id()}")["Name"]
    return made


def test_missing_and_empty_secrets_have_no_members(name: str) -> None:
    assert Secrets().get("no-such-secret") == {}
    assert Secrets().get(name) == {}


@pytest.mark.parametrize("text", ["[]", '"text"', "5", "{}"])
def test_a_secret_that_is_not_an_object_has_no_members(name: str, text: str) -> None:
    boto3.client("secretsmanager").put_secret_value(SecretId=name, SecretString=text)

    assert Secrets().get(name) == {}


def test_a_written_secret_is_read_back_unchanged(name: str) -> None:
    Secrets().put(name, {"api_key": "ä", "number": 5})

    assert Secrets().get(name) == {"api_key": "ä", "number": 5}


def test_only_one_of_two_writers_that_replace_the_same_secret_value_succeeds(name: str) -> None:
    first, second = Secrets(), Secrets()
    before = first.get(name)

    first.put(name, {"writer": "first"}, replacing=before)
    with pytest.raises(SecretChanged, match=name):
        second.put(name, {"writer": "second"}, replacing=before)
    assert second.get(name) == {"writer": "first"}
    second.put(name, {"writer": "second"}, replacing={"writer": "first"})
    assert first.get(name) == {"writer": "second"}


def test_a_write_to_a_missing_secret_raises_an_error_response() -> None:
    with pytest.raises(ErrorResponse, match="ResourceNotFoundException"):
        Secrets().put("no-such-secret", {"a": 1})
