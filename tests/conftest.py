"""What every test stands on: fake credentials, and the stack's resources in an emulator inside this process."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

os.environ.update(
    AWS_ACCESS_KEY_ID="test",
    AWS_SECRET_ACCESS_KEY="test",
    AWS_DEFAULT_REGION="eu-west-1",
    AWS_REGION="eu-west-1",
    STAGE="local",
)
for variable in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_DYNAMODB", "PORT", "PUBLIC_URL", "BANK_API_URL", "AWS_PROFILE"):
    os.environ.pop(variable, None)

from tests.world import World  # noqa: E402

TEMPLATE = Path(__file__).parent.parent / "infra" / "resources.yaml"


@pytest.fixture(scope="session")
def resources() -> Iterator[None]:
    """The real template, laid on an emulator in this process; once, since tests do not share records."""
    import boto3
    from moto import mock_aws

    with mock_aws():
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Tried to parse AWS::")
            boto3.client("cloudformation").create_stack(
                StackName="causeway-local",
                TemplateBody=TEMPLATE.read_text(encoding="utf-8"),
                Parameters=[{"ParameterKey": "Stage", "ParameterValue": "local"}],
            )
        for name in ("keys", "demo-banks"):  # of these the emulator's CloudFormation knows nothing
            boto3.client("secretsmanager").create_secret(Name=f"causeway-local-{name}", SecretString="{}")
        yield


@pytest.fixture(scope="session")
def shared_world(resources: None) -> World:
    """Made once: its keys and banks take time."""
    return World.first()


@pytest.fixture
def world(shared_world: World) -> Iterator[World]:
    """The whole service in this process, with a clock that stands still, banks that tests script, a new client."""
    fresh = shared_world.again()
    with fresh.installed():
        yield fresh
