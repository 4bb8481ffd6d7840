"""The AWS endpoint of the end-to-end tests: an emulator of each stack, or an endpoint that runs already.

As a command, ``make test-emulator``, it runs all of them against what ``AWS_ENDPOINT_URL`` names.
What else is at that endpoint is not touched: everything of a run has names that begin with a prefix of its own, and is
removed in the end.
"""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

from botocore.exceptions import ClientError, WaiterError

from infra import command
from infra.local import engines
from infra.local.dynamodb_engine import EngineFailed
from infra.local.engines import REGION
from infra.local.resources import STACK
from tests.kit.time import PATIENCE_SECONDS

VARIABLE = "CAUSEWAY_TEST_PREFIX"
"""Set while the tests run against an endpoint: what the names of the run begin with."""

_WAYS = """\
make test-emulator runs the end-to-end tests against an emulator of AWS that runs already. Say where it is:
  AWS_ENDPOINT_URL=http://127.0.0.1:4566 make test-emulator
  LOCALSTACK=1 make test-emulator      LocalStack, where its client looks for it
With AWS_ENDPOINT_URL_DYNAMODB beside it, DynamoDB is somewhere else."""
_ENDPOINTS = ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_DYNAMODB")
_GONE = (
    "ResourceNotFoundException",
    "ResourceInUseException",
    "QueueDoesNotExist",
    "AWS.SimpleQueueService.NonExistentQueue",
)
_CREDENTIALS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")


def given(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables of the tests' endpoint; empty without one."""
    names = (VARIABLE, *_ENDPOINTS, *_CREDENTIALS)
    return {name: environ[name] for name in names if environ.get(name)} if environ.get(VARIABLE) else {}


def of_a_stack(endpoint: Mapping[str, str]) -> dict[str, str]:
    """The variables of one of the tests' stacks at this endpoint, with a prefix of its own."""
    if not endpoint:
        return {}
    return {**endpoint, "RESOURCE_PREFIX": f"{endpoint[VARIABLE]}-{uuid.uuid4().hex[:4]}"}


def credentials(endpoint: Mapping[str, str]) -> dict[str, str]:
    """Those of what is ``given``, for the tests' own calls."""
    return {name: endpoint[name] for name in _CREDENTIALS if name in endpoint}


def prepare(environ: MutableMapping[str, str]) -> list[str]:
    """Complete the tests' environment; answers the addresses of the endpoints, none if it says none."""
    if environ.get("LOCALSTACK") == "1" and not environ.get("AWS_ENDPOINT_URL"):
        environ["AWS_ENDPOINT_URL"] = engines.localstack_address()
    if not environ.get("AWS_ENDPOINT_URL"):
        return []
    defaults = {**dict.fromkeys(_CREDENTIALS, "test"), "AWS_DEFAULT_REGION": REGION}
    for name, value in defaults.items():
        environ[name] = environ.get(name) or value
    environ[VARIABLE] = f"{STACK}-{uuid.uuid4().hex[:8]}"
    return [environ[name] for name in _ENDPOINTS if environ.get(name)]


def check(environ: Mapping[str, str]) -> None:
    """Ask at every endpoint of a prepared environment. Raises: EngineFailed, when it cannot be used."""
    if environ.get("LOCALSTACK") == "1":
        engines.check_localstack(
            environ["AWS_ENDPOINT_URL"], dynamodb_apart=bool(environ.get("AWS_ENDPOINT_URL_DYNAMODB"))
        )
    for address in filter(None, map(environ.get, _ENDPOINTS)):
        if not answers(address):
            raise EngineFailed(f"nothing responds at {address}: is the emulator running there?")


def answers(address: str) -> bool:
    """Whether anybody is there."""
    try:
        urlopen(address, timeout=PATIENCE_SECONDS).close()
    except HTTPError:
        return True
    except (OSError, ValueError):
        return False
    return True


def remove(prefix: str) -> None:
    """Remove everything of a run: its stacks first, until they are gone, and then what no stack has made or removed.

    KMS keys stay, as they do everywhere; they have no names any more.
    """
    import boto3

    formation, dynamodb, secrets, sqs = map(boto3.client, ("cloudformation", "dynamodb", "secretsmanager", "sqs"))
    _remove_stacks(formation, prefix)
    for table in _all(dynamodb, "list_tables", "TableNames"):
        if table.startswith(prefix):
            with _gone_already():
                dynamodb.delete_table(TableName=table)
    for secret in _all(secrets, "list_secrets", "SecretList"):
        if secret["Name"].startswith(prefix):
            with _gone_already():
                secrets.delete_secret(SecretId=secret["Name"], ForceDeleteWithoutRecovery=True)
    for url in sqs.list_queues(QueueNamePrefix=prefix).get("QueueUrls", []):
        with _gone_already():
            sqs.delete_queue(QueueUrl=url)


def _remove_stacks(formation: Any, prefix: str) -> None:
    """Delete the run's stacks beside each other, and wait for the end of each; one that stays is told."""
    names = [each["StackName"] for each in _all(formation, "describe_stacks", "Stacks")]
    of_run = [name for name in names if name.startswith(prefix)]
    for name in of_run:
        formation.delete_stack(StackName=name)
    for name in of_run:
        try:
            waiter = formation.get_waiter("stack_delete_complete")
            waiter.wait(StackName=name, WaiterConfig={"Delay": 1, "MaxAttempts": PATIENCE_SECONDS})
        except WaiterError as error:
            print(f"causeway: the stack {name} is not deleted: {error}", file=sys.stderr)


@contextmanager
def _gone_already() -> Iterator[None]:
    """Ignore errors about resources that are gone, or going."""
    try:
        yield
    except ClientError as error:
        if error.response["Error"]["Code"] not in _GONE:
            raise


def _all(client: Any, operation: str, member: str) -> Iterator[Any]:
    """All that a list has, read before any of it goes."""
    yield from [each for page in client.get_paginator(operation).paginate() for each in page[member]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tests; what it does not know of ``arguments`` is for pytest. Answers the exit code."""
    _, arguments = command.parser("tests.kit.endpoint", __doc__).parse_known_args(arguments)
    addresses = prepare(os.environ)
    if not addresses:
        print(_WAYS, file=sys.stderr)
        return 2
    try:
        check(os.environ)
    except EngineFailed as error:
        print(f"causeway: {error}", file=sys.stderr)
        return 1
    print(f"End to end at {' and '.join(addresses)}; names begin with {os.environ[VARIABLE]}", flush=True)
    try:
        return subprocess.run([sys.executable, "-m", "pytest", "-m", "e2e", *arguments], check=False).returncode
    finally:
        remove(os.environ[VARIABLE])


if __name__ == "__main__":
    command.run(main)
