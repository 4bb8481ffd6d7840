"""The Lambda layer: the locked wheels for the deployed processor, compiled, without modules that no function
imports.
"""

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

from infra.deploy import archive, lock, runtime, shared_objects
from infra.deploy.lock import Pin
from infra.repository import ROOT

PREFIX = f"python/lib/python{runtime.PYTHON}/site-packages/"
"""The folder of a layer, below ``/opt``, that is on Python's module search path in Lambda."""
SERVICES = ("dynamodb", "kms", "s3", "secretsmanager", "sesv2", "sqs")
"""The AWS services that the deployed code calls. botocore's data for all other services is omitted."""
FUNCTION = "chalice"
"""The distribution ``chalice``. Two of its modules are part of the function; the rest is a command-line tool."""
UNUSED = {"pycparser"}
"""Distributions that are omitted because no function uses them: cffi requires pycparser only to build extensions."""
_LEFT_OUT = (
    "bin/*",
    "botocore/cacert.pem",
    "botocore/data/*/examples-1.json",
    "boto3/data/*",
    "boto3/examples/*",
    "dateutil/zoneinfo/*",
    "pydantic/mypy.py",
    "pydantic/v1/*",
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
_USED: Mapping[str, tuple[str, ...]] = {
    "cffi": (),
    "stdnum": ("__init__.py", "exceptions.py", "numdb.py", "util.py", "iban.dat", "be/banks.dat"),
}
"""Packages of which only the named files are in the layer. ``cffi`` needs no file: the separate module
``_cffi_backend`` is used instead.
"""
_SERVICE_DATA = re.compile(r"botocore/data/([a-z0-9-]+)/")


class LayerFailed(Exception):
    """The layer could not be built. The message contains the reason."""


def distributions(pins: Mapping[str, Pin], direct: Iterable[str], markers: Mapping[str, str]) -> set[str]:
    """Return the layer's distributions: ``direct`` requirements and run-time dependencies under ``markers``."""
    found: set[str] = set()
    waiting: list[str] = [canonicalize_name(name) for name in direct if name != FUNCTION]
    while waiting:
        name = waiting.pop()
        if name not in found | UNUSED:
            found.add(name)
            waiting += _required(name, markers)
    return found & pins.keys()


def pinned(root: Path, processor: str) -> dict[str, Pin]:
    """Return the pins of the layer's distributions for ``processor``. Raises: LockFailed."""
    markers = runtime.markers(processor)
    pins = lock.read(root / f"{lock.RUNTIME}.txt", markers)
    return {name: pins[name] for name in sorted(distributions(pins, direct_requirements(root), markers))}


def _required(name: str, markers: Mapping[str, str]) -> list[str]:
    needed = [Requirement(line) for line in requires(name) or ()]
    return [canonicalize_name(each.name) for each in needed if not each.marker or each.marker.evaluate(markers)]


def direct_requirements(root: Path = ROOT) -> list[str]:
    lines = (root / f"{lock.RUNTIME}.in").read_text(encoding="utf-8").splitlines()
    return [line.partition("==")[0] for line in lines if line and not line.startswith("#")]


def build(root: Path, processor: str, file: Path) -> None:
    """Write the layer of the project at ``root`` to the zip file ``file``, unless the file is up to date.

    Args:
        processor: ``arm64`` or ``x86_64``.

    Raises:
        LayerFailed: a wheel is missing, differs from the locked wheel, or cannot be loaded by the runtime.
        CompileFailed: a module cannot be compiled.
    """
    rules = _fingerprint()
    if archive.comment_of(file) == rules:
        return
    wanted = pinned(root, processor)
    with tempfile.TemporaryDirectory(prefix="causeway-layer-") as place:
        wheels, packages = Path(place) / "wheels", Path(place) / "packages"
        download(wanted, processor, wheels)
        _verify(wanted, wheels)
        _install(wheels, processor, packages)
        remove_unused(packages)
        if problems := list(shared_objects.problems(packages, processor)):
            raise LayerFailed("\n".join(problems))
        archive.compile_modules(packages, f"/opt/{PREFIX.rstrip('/')}")
        archive.write_zip(packages, file, PREFIX, comment=rules)


def _fingerprint() -> str:
    """Return a digest of the build rules. A layer built by different rules is out of date."""
    modules = (__file__, archive.__file__, runtime.__file__, shared_objects.__file__)
    return hashlib.sha256(b"".join(Path(module).read_bytes() for module in modules)).hexdigest()


def download(pins: Mapping[str, Pin], processor: str, folder: Path) -> None:
    folder.mkdir()
    required = folder.parent / "requirements.txt"
    lines = [
        f"{pin.name}=={pin.version}{''.join(f' --hash=sha256:{each}' for each in sorted(pin.hashes))}"
        for pin in pins.values()
    ]
    required.write_text("\n".join(lines), encoding="utf-8")
    _pip("download", "--no-deps", "--require-hashes", *_target(processor), "-r", str(required), "-d", str(folder))


def _verify(pins: Mapping[str, Pin], folder: Path) -> None:
    missing = set(pins)
    for wheel in sorted(folder.iterdir()):
        name = canonicalize_name(parse_wheel_filename(wheel.name)[0])
        if name not in pins or hashlib.sha256(wheel.read_bytes()).hexdigest() not in pins[name].hashes:
            raise LayerFailed(f"{wheel.name} differs from the locked distribution: nothing was packaged")
        missing.discard(name)
    if missing:
        raise LayerFailed(f"there is no wheel for {', '.join(sorted(missing))}")


def _install(wheels: Path, processor: str, folder: Path) -> None:
    found = [str(wheel) for wheel in sorted(wheels.iterdir())]
    _pip("install", "--no-deps", "--no-index", "--no-compile", *_target(processor), "--target", str(folder), *found)


def _target(processor: str) -> list[str]:
    abi = f"cp{runtime.PYTHON.replace('.', '')}"
    options = ["--only-binary=:all:", "--implementation", "cp", "--python-version", runtime.PYTHON]
    options += [option for name in (abi, "abi3", "none") for option in ("--abi", name)]
    return options + [option for name in runtime.platforms(processor) for option in ("--platform", name)]


def _pip(command: str, *arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pip", command, "--quiet", "--disable-pip-version-check", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise LayerFailed(f"pip could not {command} the layer's packages\n{done.stderr.strip()}")


def is_left_out(name: str) -> bool:
    """Return whether the layer excludes a file of the locked wheels. The path is relative to ``site-packages``."""
    package, _, inside = name.partition("/")
    service = _SERVICE_DATA.match(name)
    return (
        (service is not None and service[1] not in SERVICES)
        or any(fnmatch(name, pattern) for pattern in _LEFT_OUT)
        or (package in _USED and not any(fnmatch(inside, pattern) for pattern in _USED[package]))
    )


def remove_unused(packages: Path) -> None:
    for file in sorted(path for path in packages.rglob("*") if path.is_file()):
        name = file.relative_to(packages).as_posix()
        if is_left_out(name):
            file.unlink()
        elif _SERVICE_DATA.match(name) and name.endswith("/service-2.json.gz"):
            _remove_documentation(file)
    for folder in sorted((path for path in packages.rglob("*") if path.is_dir()), reverse=True):
        if not any(folder.iterdir()):
            shutil.rmtree(folder)


def _remove_documentation(model: Path) -> None:
    """Remove the documentation from a service model. It makes up two thirds of the data that each new client parses.

    The empty members remain, because botocore requires them for endpoint parameters.
    """
    found = json.loads(gzip.decompress(model.read_bytes()))
    model.write_bytes(gzip.compress(json.dumps(_without_texts(found), separators=(",", ":")).encode(), mtime=0))


def _without_texts(part: Any) -> Any:
    if isinstance(part, list):
        return [_without_texts(each) for each in part]
    if not isinstance(part, dict):
        return part
    return {
        name: "" if name == "documentation" and isinstance(value, str) else _without_texts(value)
        for name, value in part.items()
    }
