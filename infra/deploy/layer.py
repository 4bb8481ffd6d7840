"""The layer: the locked wheels for the deployed processor, compiled, without modules that no function imports."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from fnmatch import fnmatch
from importlib.metadata import requires
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, parse_wheel_filename

from infra.deploy import archive, lock
from infra.deploy.lock import Pin

PLATFORMS: Mapping[str, tuple[str, ...]] = {
    "arm64": ("manylinux_2_28_aarch64", "manylinux_2_17_aarch64", "manylinux2014_aarch64"),
    "x86_64": ("manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64"),
}
"""The platforms of wheels that run on Lambda's processors (Amazon Linux 2023 has glibc 2.34)."""
PREFIX = "python/lib/python{}/site-packages/"
"""The folder of a layer, below ``/opt``, that is on Python's path in Lambda."""
SERVICES = ("dynamodb", "kms", "s3", "secretsmanager", "sesv2", "sqs")
"""The AWS services that deployed code calls; botocore's data for other services is omitted."""
FUNCTION = "chalice"
"""Chalice: two of its modules are part of the function; the rest is a command-line tool."""
_LEFT_OUT = (
    "bin/*",
    "botocore/data/*/examples-1.json",
    "*/tests/*",
    "*.pyi",
    "*.dist-info/RECORD",
    "*.dist-info/INSTALLER",
    "*.dist-info/REQUESTED",
    "*.dist-info/direct_url.json",
    "pycountry/locales/*",
    "pycountry/databases/iso639-*",
    "pycountry/databases/iso15924*",
    "pycountry/databases/iso3166-2*",
    "pycountry/databases/iso3166-3*",
    "pycountry/databases/iso4217*",
    "heroicons/templatetags/*",
)
_SERVICE_DATA = re.compile(r"botocore/data/([a-z0-9-]+)/")


class LayerFailed(Exception):
    """The layer cannot be built; the message gives the reason."""


def distributions(pins: Mapping[str, Pin], direct: Iterable[str]) -> set[str]:
    """The distributions of the layer: the ``direct`` requirements and their run-time dependencies."""
    found: set[str] = set()
    waiting: list[str] = [canonicalize_name(name) for name in direct if name != FUNCTION]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += _required(name)
    return found & pins.keys()


def pinned(root: Path) -> dict[str, Pin]:
    """The pins of the layer's distributions. Raises: LockFailed."""
    pins = lock.read(root / f"{lock.RUNTIME}.txt")
    return {name: pins[name] for name in sorted(distributions(pins, direct_requirements(root)))}


def _required(name: str) -> list[str]:
    needed = [Requirement(line) for line in requires(name) or ()]
    return [canonicalize_name(each.name) for each in needed if not each.marker or each.marker.evaluate({"extra": ""})]


def direct_requirements(root: Path = lock.ROOT) -> list[str]:
    lines = (root / f"{lock.RUNTIME}.in").read_text(encoding="utf-8").splitlines()
    return [line.partition("==")[0] for line in lines if line and not line.startswith("#")]


def build(root: Path, processor: str, python: str, file: Path) -> None:
    """Write the layer of the project at ``root`` to the zip file ``file``, unless it is up to date.

    Args:
        processor: ``arm64`` or ``x86_64``.
        python: the deployed version, such as ``3.11``; it must be the running one.

    Raises:
        LayerFailed: a wheel is missing, or differs from the locked one.
        CompileFailed: a module cannot be compiled.
    """
    rules = _fingerprint()
    if archive.comment_of(file) == rules:
        return
    wanted = pinned(root)
    with tempfile.TemporaryDirectory(prefix="causeway-layer-") as place:
        wheels, packages = Path(place) / "wheels", Path(place) / "packages"
        _download(wanted, processor, python, wheels)
        _verify(wanted, wheels)
        _install(wheels, processor, python, packages)
        _remove_unused(packages)
        prefix = PREFIX.format(python)
        archive.compile_modules(packages, f"/opt/{prefix.rstrip('/')}")
        archive.write_zip(packages, file, prefix, comment=rules)


def _fingerprint() -> str:
    """A digest of the build rules: a layer built by different rules is out of date."""
    sources = (Path(__file__), Path(archive.__file__))
    return hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()


def _download(pins: Mapping[str, Pin], processor: str, python: str, folder: Path) -> None:
    folder.mkdir()
    required = folder.parent / "requirements.txt"
    lines = [
        f"{pin.name}=={pin.version}{''.join(f' --hash=sha256:{each}' for each in sorted(pin.hashes))}"
        for pin in pins.values()
    ]
    required.write_text("\n".join(lines), encoding="utf-8")
    _pip(
        "download", "--no-deps", "--require-hashes", *_target(processor, python), "-r", str(required), "-d", str(folder)
    )


def _verify(pins: Mapping[str, Pin], folder: Path) -> None:
    """Check that every pin has exactly one wheel, and that its digest is in the lock."""
    missing = set(pins)
    for wheel in sorted(folder.iterdir()):
        name = canonicalize_name(parse_wheel_filename(wheel.name)[0])
        if name not in pins or hashlib.sha256(wheel.read_bytes()).hexdigest() not in pins[name].hashes:
            raise LayerFailed(f"{wheel.name} differs from the locked distribution: nothing was packaged")
        missing.discard(name)
    if missing:
        raise LayerFailed(f"there is no wheel for {', '.join(sorted(missing))}")


def _install(wheels: Path, processor: str, python: str, folder: Path) -> None:
    found = [str(wheel) for wheel in sorted(wheels.iterdir())]
    _pip(
        "install",
        "--no-deps",
        "--no-index",
        "--no-compile",
        *_target(processor, python),
        "--target",
        str(folder),
        *found,
    )


def _target(processor: str, python: str) -> list[str]:
    abi = f"cp{python.replace('.', '')}"
    options = ["--only-binary=:all:", "--implementation", "cp", "--python-version", python]
    options += [option for name in (abi, "abi3", "none") for option in ("--abi", name)]
    return options + [option for name in PLATFORMS[processor] for option in ("--platform", name)]


def _pip(command: str, *arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pip", command, "--quiet", "--disable-pip-version-check", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise LayerFailed(f"pip could not {command} the layer's packages\n{done.stderr.strip()}")


def _remove_unused(packages: Path) -> None:
    for file in sorted(path for path in packages.rglob("*") if path.is_file()):
        name = file.relative_to(packages).as_posix()
        service = _SERVICE_DATA.match(name)
        if (service and service[1] not in SERVICES) or any(fnmatch(name, pattern) for pattern in _LEFT_OUT):
            file.unlink()
        elif service and name.endswith("/service-2.json.gz"):
            _remove_documentation(file)
    for folder in sorted((path for path in packages.rglob("*") if path.is_dir()), reverse=True):
        if not any(folder.iterdir()):
            shutil.rmtree(folder)


def _remove_documentation(model: Path) -> None:
    """Remove the documentation from a service model: two thirds of the data that a cold start would parse."""
    found = json.loads(gzip.decompress(model.read_bytes()))
    model.write_bytes(gzip.compress(json.dumps(_without_texts(found), separators=(",", ":")).encode(), mtime=0))


def _without_texts(part: Any) -> Any:
    if isinstance(part, list):
        return [_without_texts(each) for each in part]
    if not isinstance(part, dict):
        return part
    return {
        name: _without_texts(value)
        for name, value in part.items()
        if not (name == "documentation" and isinstance(value, str))
    }
