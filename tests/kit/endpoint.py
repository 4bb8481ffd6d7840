"""The AWS endpoint of the end-to-end tests: an emulator for each stack, or an existing endpoint.

The command ``make test-emulator`` runs the end-to-end tests at the endpoint in ``AWS_ENDPOINT_URL``. All resources of a
run have names with a unique prefix and are removed at the end. Other resources at the endpoint are not changed.
"""

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
"""The name of the environment variable that contains the prefix of resource names while the tests run at an endpoint.
"""

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
CREDENTIALS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")


def given(environ: Mapping[str, str]) -> dict[str, str]:
    names = (VARIABLE, *_ENDPOINTS, *CREDENTIALS)
    return {name: environ[name] for name in names if environ.get(name)} if environ.get(VARIABLE) else {}


def of_a_stack(endpoint: Mapping[str, str]) -> dict[str, str]:
    if not endpoint:
        return {}
    return {**endpoint, "RESOURCE_PREFIX": f"{endpoint[VARIABLE]}-{uuid.uuid4().hex[:4]}"}


def credentials(endpoint: Mapping[str, str]) -> dict[str, str]:
    return {name: endpoint[name] for name in CREDENTIALS if name in endpoint}


def prepare(environ: MutableMapping[str, str]) -> list[str]:
    """Complete the tests' environment variables.

    Return the addresses of the endpoints, or an empty list if no endpoint is set.
    """
    if environ.get("LOCALSTACK") == "1" and not environ.get("AWS_ENDPOINT_URL"):
        environ["AWS_ENDPOINT_URL"] = engines.localstack_address()
    if not environ.get("AWS_ENDPOINT_URL"):
        return []
    defaults = {**dict.fromkeys(CREDENTIALS, "test"), "AWS_DEFAULT_REGION": REGION}
    for name, value in defaults.items():
        environ[name] = environ.get(name) or value
    environ[VARIABLE] = f"{STACK}-{uuid.uuid4().hex[:8]}"
    return [environ[name] for name in _ENDPOINTS if environ.get(name)]


def check(environ: Mapping[str, str]) -> None:
    """Call every endpoint of a prepared environment. Raises: EngineFailed, if an endpoint cannot be used."""
    if environ.get("LOCALSTACK") == "1":
        engines.check_localstack(
            environ["AWS_ENDPOINT_URL"], dynamodb_apart=bool(environ.get("AWS_ENDPOINT_URL_DYNAMODB"))
        )
    for address in filter(None, map(environ.get, _ENDPOINTS)):
        if not answers(address):
            raise EngineFailed(f"nothing responds at {address}: is the emulator running there?")


def answers(address: str) -> bool:
    try:
        urlopen(address, timeout=PATIENCE_SECONDS).close()
    except HTTPError:
        return True
    except (OSError, ValueError):
        return False
    return True


def remove(prefix: str) -> None:
    """Remove all resources of a run: first the run's stacks, then the remaining resources.

    The KMS keys remain, as in other environments. Only the aliases of the keys are removed.
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
    """Delete the run's stacks in parallel, wait for the end of each deletion, and report failed deletions."""
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
    try:
        yield
    except ClientError as error:
        if error.response["Error"]["Code"] not in _GONE:
            raise


def _all(client: Any, operation: str, member: str) -> Iterator[Any]:
    """Return all pages of a list, so that the list is complete before a resource is deleted."""
    yield from [each for page in client.get_paginator(operation).paginate() for each in page[member]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tests and return the exit code. Unknown ``arguments`` are passed to pytest."""
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
