"""The settings of pip are translated to settings of uv."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from uv import find_uv_bin

from infra import pip_settings

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "infra" / "pip_settings.py"


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path), "XDG_CONFIG_DIRS": str(tmp_path / "xdg"), "SSL_CERT_FILE": "/ca.pem"}


def translate(environ: dict[str, str]) -> dict[str, str]:
    """Return the translated variables for uv, without the certificate variable of the test environment."""
    found = pip_settings.uv_variables(environ)
    return {name: value for name, value in found.items() if (name, value) != ("SSL_CERT_FILE", "/ca.pem")}


def configure(file: Path, content: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content, "utf-8")
    return file


@pytest.fixture(autouse=True)
def no_configuration_of_this_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    find = pip_settings.find_files
    monkeypatch.setattr(
        pip_settings, "find_files", lambda environ: [file for file in find(environ) if tmp_path in file.parents]
    )


@pytest.mark.parametrize(
    ("setting", "value", "expected"),
    [
        ("index-url", "https://a.example/simple", {"UV_DEFAULT_INDEX": "https://a.example/simple"}),
        (
            "extra-index-url",
            "https://a.example/1\nhttps://a.example/2",
            {"UV_INDEX": "https://a.example/1 https://a.example/2", "UV_INDEX_STRATEGY": "unsafe-best-match"},
        ),
        ("trusted-host", "a.example b.example:8", {"UV_INSECURE_HOST": "a.example b.example:8"}),
        ("default-timeout", "180", {"UV_HTTP_TIMEOUT": "180"}),
        ("timeout", "0.6", {"UV_HTTP_TIMEOUT": "1"}),
        ("retries", "7", {"UV_HTTP_RETRIES": "7"}),
        ("cert", "/own.pem", {"SSL_CERT_FILE": "/own.pem"}),
        ("client-cert", "/client.pem", {"SSL_CLIENT_CERT": "/client.pem"}),
        ("find-links", "https://a.example/ /missing", {"UV_FIND_LINKS": "https://a.example/"}),
        ("proxy", "proxy.example:80", dict.fromkeys(pip_settings.PROXIES, "http://proxy.example:80")),
        ("keyring-provider", "subprocess", {"UV_KEYRING_PROVIDER": "subprocess"}),
        ("keyring-provider", "disabled", {"UV_KEYRING_PROVIDER": "disabled"}),
        ("keyring-provider", "import", {"UV_KEYRING_PROVIDER": "subprocess"}),
        ("keyring-provider", "auto", {}),
        ("progress-bar", "off", {}),
    ],
)
def test_pip_settings_are_translated_to_uv_variables(
    environ: dict[str, str], tmp_path: Path, setting: str, value: str, expected: dict[str, str]
) -> None:
    variable = f"PIP_{setting.upper().replace('-', '_')}"
    assert translate({**environ, variable: value}) == expected

    configure(tmp_path / ".config/pip/pip.conf", f"[global]\n{setting} = " + value.replace("\n", "\n    "))
    assert translate(environ) == expected


@pytest.mark.parametrize(
    ("value", "options"), [("true", ["--no-index"]), ("1", ["--no-index"]), ("false", []), ("", [])]
)
def test_the_pip_setting_no_index_is_translated_to_an_option_of_uv(
    environ: dict[str, str], value: str, options: list[str]
) -> None:
    environ["PIP_NO_INDEX"] = value

    assert pip_settings.uv_options(environ) == options
    assert translate(environ) == {}


def test_uv_supports_every_translated_variable(environ: dict[str, str], tmp_path: Path) -> None:
    """For each translated variable, uv lists the variable or reports an invalid value."""
    settings = ("index-url", "extra-index-url", "trusted-host", "retries", "client-cert", "timeout", "find-links")
    url = {f"PIP_{name.upper().replace('-', '_')}": "https://a.example" for name in settings}
    some = environ | url | {"PIP_TIMEOUT": "1", "PIP_KEYRING_PROVIDER": "subprocess"}
    certificates = [{}, {"SSL_CERT_FILE": "/ca.pem"}, {"SSL_CERT_FILE": str(tmp_path)}]
    found = {name for each in certificates for name in pip_settings.uv_variables(some | {"SSL_CERT_FILE": ""} | each)}
    own = {"UV_CACHE_DIR": str(tmp_path / "cache"), "UV_OFFLINE": "1", "HOME": str(tmp_path)}
    (tmp_path / "sample.in").write_text("sample", "utf-8")
    compiling = ("pip", "compile", "--python", sys.executable, "sample.in")

    def ask(*arguments: str, **variables: str) -> str:
        command = [find_uv_bin(), *arguments]
        done = subprocess.run(
            command, env=own | variables, cwd=tmp_path, capture_output=True, text=True, check=False, input=""
        )
        return done.stdout + done.stderr

    listed = ask("help", "--no-pager", "pip", "install")
    silent = ask(*compiling)

    def is_known(name: str) -> bool:
        return f"[env: {name}=" in listed or ask(*compiling, **{name: "no sense"}) != silent

    assert {name for name in found if not is_known(name)} == set()
    assert not is_known("UV_NO_INDEX")


def test_the_translated_settings_have_the_same_precedence_as_in_pip(environ: dict[str, str], tmp_path: Path) -> None:
    """The order is variables, PIP_CONFIG_FILE, user file, machine file, and ``install`` before ``global``."""
    configure(tmp_path / "xdg/pip/pip.conf", "[global]\nindex-url=machine\n")
    assert translate(environ) == {"UV_DEFAULT_INDEX": "machine"}
    configure(tmp_path / ".pip/pip.conf", "[global]\nindex-url=user\n")
    assert translate(environ) == {"UV_DEFAULT_INDEX": "user"}
    environ["PIP_CONFIG_FILE"] = str(configure(tmp_path / "given", "[global]\nretries=1\n"))
    assert translate(environ) == {"UV_DEFAULT_INDEX": "machine", "UV_HTTP_RETRIES": "1"}
    configure(tmp_path / "xdg/pip/pip.conf", "[install]\nindex_url=machine-install\n[global]\nindex-url=machine\n")
    configure(tmp_path / "given", "[global]\nindex-url=given\n")
    assert translate(environ) == {"UV_DEFAULT_INDEX": "machine-install"}
    environ["PIP_INDEX_URL"] = "variable"
    assert translate(environ) == {"UV_DEFAULT_INDEX": "variable"}


def test_no_file_is_read_if_pip_config_file_is_dev_null(environ: dict[str, str], tmp_path: Path) -> None:
    configure(tmp_path / ".config/pip/pip.conf", "[global]\nindex-url=user\n")

    assert translate({**environ, "PIP_CONFIG_FILE": os.devnull}) == {}


@pytest.mark.parametrize("variable", ["REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"])
def test_the_ca_bundle_variables_of_requests_and_curl_are_used(
    environ: dict[str, str], tmp_path: Path, variable: str
) -> None:
    assert translate({**environ, variable: "/library.pem"}) == {"SSL_CERT_FILE": "/library.pem"}
    assert translate({**environ, variable: "/library.pem", "PIP_CERT": "/pip.pem"}) == {"SSL_CERT_FILE": "/pip.pem"}
    assert translate({**environ, variable: str(tmp_path)}) == {"SSL_CERT_DIR": str(tmp_path)}


def test_the_system_certificates_are_trusted_without_a_configured_certificate(environ: dict[str, str]) -> None:
    del environ["SSL_CERT_FILE"]

    assert translate(environ) == {"UV_NATIVE_TLS": "true", "UV_SYSTEM_CERTS": "true"}


def test_a_uv_variable_overrides_the_pip_setting(environ: dict[str, str]) -> None:
    assert translate({**environ, "PIP_INDEX_URL": "pip", "UV_DEFAULT_INDEX": "uv"}) == {}


def run_script(environ: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-I",
        str(SCRIPT),
        sys.executable,
        "-c",
        "import os, sys; print(os.environ['UV_HTTP_RETRIES'], *sys.argv[1:])",
    ]
    return subprocess.run(command, env=environ, capture_output=True, text=True, check=False)


def test_the_script_runs_a_command_with_the_translated_variables_and_options(environ: dict[str, str]) -> None:
    assert run_script({**environ, "PIP_RETRIES": "7"}).stdout == "7\n"
    assert run_script({**environ, "PIP_RETRIES": "7", "PIP_NO_INDEX": "1"}).stdout == "7 --no-index\n"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("index-url=user\n", "{file}, line 1"),
        ("[global]\nretries=1\nindex-url\n", "{file}, line 3"),
        ("[global]\nretries=1\nretries=1\n", "{file}, line 3"),
        ("[global]\nretries=\xff\n", "{file} is not UTF-8"),
        ("[global]\ntimeout=soon\n", "`timeout` is not a number of seconds"),
        ("[global]\ntimeout=inf\n", "`timeout` is not a number of seconds"),
    ],
)
def test_an_unreadable_pip_configuration_is_reported_with_the_file_and_the_problem(
    environ: dict[str, str], tmp_path: Path, content: str, problem: str
) -> None:
    file = tmp_path / ".config/pip/pip.conf"
    configure(file, "")
    file.write_text(content, "latin-1")
    done = run_script(environ)

    problem = problem.format(file=file)
    expected = f"causeway: pip's configuration cannot be read: {problem}\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", expected)


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("at 'https://user:secret@a.example/simple'", "at 'https://***@a.example/simple'"),
        ("https://user:se/cr@et@a.example:8/simple", "https://***@a.example:8/simple"),
        ("https://secret@a.example", "https://***@a.example"),
        ("`./user:secret@a.example/simple`", "`./***@a.example/simple`"),
        ("https://user:secret@a.example https://b.example:8/", "https://***@a.example https://b.example:8/"),
        ("cause: six @ https://a.example/six.whl", "cause: six @ https://a.example/six.whl"),
    ],
)
def test_the_script_without_a_command_masks_the_credentials_of_urls(
    environ: dict[str, str], text: str, masked: str
) -> None:
    command = [sys.executable, "-I", str(SCRIPT)]
    done = subprocess.run(command, env=environ, input=f"{text}\n", capture_output=True, text=True, check=True)

    assert done.stdout == f"{masked}\n"
