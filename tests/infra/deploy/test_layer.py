"""The Lambda layer contains only locked wheels with matching hashes, and only packages that functions import."""

import hashlib
import shutil
import zipfile
from pathlib import Path

import botocore
import pytest
from botocore.loaders import Loader
from botocore.session import Session

from chalicelib.foundation.aws.services import SERVICES
from infra.deploy import archive, layer, lock, runtime
from infra.deploy.layer import LayerFailed
from infra.deploy.lock import Pin
from tests.infra.deploy.layer_files import shared_object
from tests.kit.documents import ROOT

IN_THE_LAYER = {
    *("annotated-types", "argon2-cffi", "argon2-cffi-bindings", "boto3", "botocore", "certifi"),
    *("cffi", "charset-normalizer", "cryptography", "heroicons", "idna", "iso4217", "itsdangerous", "jinja2"),
    "joserfc",
    *("jmespath", "markupsafe", "pycountry", "pydantic", "pydantic-core", "python-dateutil"),
    *("python-stdnum", "requests", "s3transfer", "simplejson", "six", "typing-extensions", "typing-inspection"),
    *("urllib3", "zxcvbn"),
}
"""The distributions that may be in the layer, which are the distributions needed to process requests."""
WHEEL = "sample-1.0-py3-none-any.whl"


@pytest.mark.parametrize("processor", runtime.MACHINES)
def test_the_layer_has_exactly_the_packages_of_the_functions(processor: str) -> None:
    assert layer.pinned(ROOT, processor).keys() == IN_THE_LAYER


def test_the_layer_omits_packages_for_other_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    needed = {"sample": ["here; platform_machine == 'aarch64'", "there; platform_machine == 'x86_64'"]}
    needed["sample"] += ["old; python_version < '3.12'", "mac; sys_platform == 'darwin'"]
    monkeypatch.setattr(layer, "requires", lambda name: needed.get(name, []))
    pins = {name: Pin(name, "1", None, frozenset()) for name in ("sample", "here", "there", "old", "mac")}

    found = {each: layer.distributions(pins, ["sample"], runtime.markers(each)) for each in runtime.MACHINES}

    assert found == {"arm64": {"sample", "here"}, "x86_64": {"sample", "there"}}


def test_the_layer_contains_the_data_of_the_aws_services_called_by_deployed_code() -> None:
    sources = [path.read_text("utf-8") for path in (ROOT / "chalicelib").rglob("*.py")]
    clients = {each for each in layer.SERVICES if any(f'client("{each}")' in source for source in sources)}

    assert clients | {*SERVICES} == {*layer.SERVICES}


LISTING = {"s3": "list_objects_v2", "sesv2": "list_contact_lists"} | {
    name: service.list_method for name, service in SERVICES.items()
}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("packages")
    shutil.copytree(Path(botocore.__file__).parent / "data", place / "botocore/data")
    layer.remove_unused(place)
    return place / "botocore/data"


@pytest.mark.parametrize("service", layer.SERVICES)
def test_a_client_works_with_the_service_data_of_the_layer(
    data: Path, service: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Loader, "BUILTIN_DATA_PATH", str(data))
    client = Session().create_client(
        service, "eu-west-1", aws_access_key_id="none", aws_secret_access_key="none", endpoint_url="http://127.0.0.1:9"
    )
    client.meta.events.register_first("before-send", stop)

    with pytest.raises(StoppedError):
        getattr(client, LISTING[service])(**({"Bucket": "one"} if service == "s3" else {}))


class StoppedError(Exception):
    """Raised if a request is stopped before the request is sent."""


def stop(**_: object) -> None:
    raise StoppedError


def made_wheel(folder: Path) -> Path:
    folder.mkdir()
    with zipfile.ZipFile(folder / WHEEL, "w") as wheel:
        for name in ("sample/__init__.py", "sample/tests/test_it.py", "sample/types.pyi", "sample/data.json"):
            wheel.writestr(name, "")
        wheel.writestr("sample-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: sample\nVersion: 1.0\n")
        wheel.writestr("sample-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr("sample-1.0.dist-info/RECORD", "")
    return folder / WHEEL


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Provide a wheel for download. The lock contains the wheel's hash."""
    found = made_wheel(tmp_path / "index")
    pin = Pin("sample", "1.0", None, frozenset({hashlib.sha256(found.read_bytes()).hexdigest()}))
    monkeypatch.setattr(layer, "pinned", lambda root, processor: {"sample": pin})

    def download(pins: object, processor: str, folder: Path) -> None:
        folder.mkdir()
        for file in found.parent.iterdir():
            (folder / file.name).write_bytes(file.read_bytes())

    monkeypatch.setattr(layer, "download", download)
    return found


@pytest.mark.usefixtures("wheel")
def test_a_layer_contains_compiled_modules_but_no_tests_and_no_stubs(tmp_path: Path) -> None:
    layer.build(ROOT, "arm64", tmp_path / "layer.zip")

    with zipfile.ZipFile(tmp_path / "layer.zip") as built:
        names = {name.removeprefix(layer.PREFIX) for name in built.namelist()}
    assert {name for name in names if "__pycache__" not in name} == {
        "sample/__init__.py",
        "sample/data.json",
        "sample-1.0.dist-info/METADATA",
        "sample-1.0.dist-info/WHEEL",
    }
    assert len([name for name in names if name.endswith(".pyc")]) == 1


def test_a_wheel_with_a_hash_that_is_not_locked_is_refused(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel, "a") as file:
        file.writestr("sample/more.py", "")

    with pytest.raises(LayerFailed, match=f"{WHEEL} differs from the locked distribution: nothing was packaged"):
        layer.build(ROOT, "arm64", tmp_path / "layer.zip")
    assert not (tmp_path / "layer.zip").exists()


def test_the_error_for_a_missing_wheel_names_the_distribution(wheel: Path, tmp_path: Path) -> None:
    wheel.unlink()

    with pytest.raises(LayerFailed, match="there is no wheel for sample"):
        layer.build(ROOT, "arm64", tmp_path / "layer.zip")


def test_a_wheel_that_the_runtime_cannot_load_is_refused(
    wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with zipfile.ZipFile(wheel, "a") as file:
        file.writestr("sample/it.so", shared_object("aarch64", {"libc.so.6": ["GLIBC_2.35"]}))
    pin = Pin("sample", "1.0", None, frozenset({hashlib.sha256(wheel.read_bytes()).hexdigest()}))
    monkeypatch.setattr(layer, "pinned", lambda root, processor: {"sample": pin})

    with pytest.raises(LayerFailed, match=r"^sample/it\.so needs GLIBC_2\.35, and python3\.13 has glibc 2\.34$"):
        layer.build(ROOT, "arm64", tmp_path / "layer.zip")
    assert not (tmp_path / "layer.zip").exists()


@pytest.mark.usefixtures("wheel")
def test_a_layer_with_unchanged_build_rules_is_reused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    layer.build(ROOT, "arm64", tmp_path / "layer.zip")
    monkeypatch.setattr(layer, "download", lambda *_: pytest.fail("it is there"))

    layer.build(ROOT, "arm64", tmp_path / "layer.zip")


def test_a_layer_with_changed_build_rules_is_rebuilt(
    wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive.write_zip(wheel.parent, tmp_path / "layer.zip", comment="others")

    layer.build(ROOT, "arm64", tmp_path / "layer.zip")

    assert archive.comment_of(tmp_path / "layer.zip") not in (None, "others")


def test_a_failed_download_raises_layer_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pin = Pin("no-such-package", "1.0", None, frozenset({"0" * 64}))
    monkeypatch.setattr(layer, "pinned", lambda root, processor: {pin.name: pin})
    monkeypatch.setenv("PIP_NO_INDEX", "1")

    with pytest.raises(LayerFailed, match="pip could not download the layer's packages"):
        layer.build(ROOT, "arm64", tmp_path / "layer.zip")


def test_the_lock_file_contains_every_package_of_the_layer() -> None:
    assert lock.read(ROOT / "requirements.txt").keys() >= IN_THE_LAYER
