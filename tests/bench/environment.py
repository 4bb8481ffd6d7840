"""Child processes of a benchmark, and environment variables that direct AWS calls to them."""

import contextlib
import os
import subprocess
from collections.abc import Iterator

from infra.local.process import ChildProcess, python_command
from infra.repository import ROOT


@contextlib.contextmanager
def child(module: str, *arguments: str) -> Iterator[str]:
    """Run a module in a child process, and yield the first line of its output."""
    process = ChildProcess(python_command(module, *arguments), output=subprocess.PIPE, folder=ROOT)
    try:
        yield process.first_line()
    finally:
        process.stop()


@contextlib.contextmanager
def environment(**variables: str) -> Iterator[None]:
    """Set the AWS environment variables of this process and its children for a benchmark against local endpoints."""
    before = dict(os.environ)
    os.environ |= {
        "AWS_ACCESS_KEY_ID": "bench",
        "AWS_SECRET_ACCESS_KEY": "bench",
        "AWS_DEFAULT_REGION": "eu-west-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "STAGE": "local",
        "NO_PROXY": "127.0.0.1",
        **variables,
    }
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
