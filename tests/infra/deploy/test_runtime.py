"""Wheels and environment markers match the Lambda runtime, independent of the packaging machine."""

import re
import sys

import pytest
from packaging.markers import Marker, default_environment

from infra.deploy import runtime
from infra.deploy.runtime import WrongPython

AMAZON_LINUX_2023 = 34
"""The minor version of glibc 2 in Amazon Linux 2023."""


@pytest.mark.parametrize("processor", runtime.MACHINES)
def test_the_selected_wheels_require_no_newer_glibc_than_the_runtime_has(processor: str) -> None:
    machine = {"arm64": "aarch64", "x86_64": "x86_64"}[processor]
    tags = runtime.platforms(processor)
    found = [int(each[1]) for tag in tags if (each := re.fullmatch(rf"manylinux_2_(\d+)_{machine}", tag))]

    assert found == list(range(AMAZON_LINUX_2023, 16, -1))
    assert tags[len(found) :] == [f"manylinux2014_{machine}"]


@pytest.mark.parametrize("processor", runtime.MACHINES)
def test_requirement_markers_are_evaluated_with_the_values_of_the_runtime(processor: str) -> None:
    found = runtime.markers(processor)

    assert found.keys() | {"platform_release", "platform_version", "implementation_version"} == {
        *default_environment(),
        "extra",
    }
    linux = f"sys_platform == 'linux' and platform_machine == '{runtime.MACHINES[processor]}'"
    assert Marker(f"{linux} and python_full_version >= '3.13'").evaluate(dict(found))


@pytest.mark.parametrize(("running", "refused"), [((3, 13, 5), False), ((3, 12, 9), True), ((3, 14, 0), True)])
def test_only_the_deployed_python_version_compiles_modules(
    monkeypatch: pytest.MonkeyPatch, running: tuple[int, ...], refused: bool
) -> None:
    monkeypatch.setattr(sys, "version_info", running)
    if not refused:
        runtime.check_python()
        return
    with pytest.raises(WrongPython, match=rf"stages run on Python 3\.13, .* this is Python 3\.{running[1]}: use `make"):
        runtime.check_python()
