"""Converts pip's settings to variables and options for uv, because uv does not read pip's configuration.

Uses only the standard library, because this module installs the other packages. As a script, the module runs a command
with these settings, for example ``python3 -I infra/pip_settings.py uv pip install …``. Without a command, the script
masks user names and passwords in the text on standard input.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from configparser import Error, ParsingError, RawConfigParser
from pathlib import Path

Settings = dict[str, str]
PROXIES = ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY")
_CREDENTIALS = (re.compile(r"(?<=://)\S*(?=@)"), re.compile(r"[^\s/@:]+:[^\s/@]\S*(?=@)"))
"""Patterns of the user name and password in a URL, and in a URL without a scheme, for passwords with any characters."""


class SettingsInvalid(Exception):
    """pip's configuration cannot be read. The message contains the location but no value, which may be a password."""


def mask(text: str) -> str:
    """Return a text in which user names and passwords in URLs are masked."""
    for credentials in _CREDENTIALS:
        text = credentials.sub("***", text)
    return text


def uv_variables(environ: Mapping[str, str]) -> Settings:
    """Return the environment variables for uv that match pip's configuration. Variables already in ``environ`` are
    omitted.

    Raises:
        SettingsInvalid: a configuration file of pip cannot be parsed, or a setting has the wrong type.
    """
    variables = dict(_translate(_read_settings(environ), environ))
    return {name: value for name, value in variables.items() if not name.startswith("UV_") or name not in environ}


def uv_options(environ: Mapping[str, str]) -> list[str]:
    """Return the options for pip settings that no variable of uv covers. Raises: SettingsInvalid."""
    return ["--no-index"] if _read_settings(environ).get("no-index") else []


def _translate(settings: Settings, environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    names = {
        "index-url": "UV_DEFAULT_INDEX",
        "extra-index-url": "UV_INDEX",
        "trusted-host": "UV_INSECURE_HOST",
        "retries": "UV_HTTP_RETRIES",
        "client-cert": "SSL_CLIENT_CERT",
    }
    yield from ((name, " ".join(settings[key].split())) for key, name in names.items() if settings.get(key))
    if settings.get("extra-index-url"):
        yield "UV_INDEX_STRATEGY", "unsafe-best-match"  # as pip does; hashes make it safe
    if (keyring := settings.get("keyring-provider")) and keyring != "auto":
        # uv imports no keyring, but runs the program of that name
        yield "UV_KEYRING_PROVIDER", "subprocess" if keyring == "import" else keyring
    if timeout := settings.get("timeout"):
        try:
            yield "UV_HTTP_TIMEOUT", str(round(float(timeout)))
        except (ValueError, OverflowError):
            raise SettingsInvalid("`timeout` is not a number of seconds") from None
    if links := [link for link in settings.get("find-links", "").split() if "://" in link or Path(link).exists()]:
        yield "UV_FIND_LINKS", ",".join(links)  # pip ignores a folder that is missing
    if proxy := settings.get("proxy"):
        yield from ((name, proxy if "://" in proxy else f"http://{proxy}") for name in PROXIES)
    certificates = [settings.get("cert"), *map(environ.get, ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"))]
    bundle = next(filter(None, certificates), None)
    if bundle:
        yield ("SSL_CERT_DIR" if Path(bundle).is_dir() else "SSL_CERT_FILE"), bundle
    else:
        # As pip, trust the certificates that this machine trusts; older versions of uv know only the first
        yield from (("UV_NATIVE_TLS", "true"), ("UV_SYSTEM_CERTS", "true"))


def _read_settings(environ: Mapping[str, str]) -> Settings:
    """Read the settings of ``pip install`` from pip's files and then from variables. The section ``install`` overrides
    ``global``.
    """
    parser = RawConfigParser()
    for file in find_files(environ):
        try:
            parser.read(file, encoding="utf-8")
        except Error as error:
            raise SettingsInvalid(f"{file}, line {_line(error)}") from None
        except UnicodeDecodeError:
            raise SettingsInvalid(f"{file} is not UTF-8") from None
    sections = [parser.items(name) for name in ("global", "install") if parser.has_section(name)]
    variables = [(name[4:], value) for name, value in environ.items() if name.startswith("PIP_")]
    settings = {_normalize(name): value for section in (*sections, variables) for name, value in section}
    if settings.get("no-index", "").lower() in {"0", "n", "no", "f", "false", "off"}:
        del settings["no-index"]
    return settings


def _line(error: Error) -> int:
    line: int = error.errors[0][0] if type(error) is ParsingError else getattr(error, "lineno", 1)
    return line


def _normalize(name: str) -> str:
    return name.lower().replace("_", "-").removeprefix("--").removeprefix("default-")


def find_files(environ: Mapping[str, str]) -> list[Path]:
    """Return pip's configuration files, in ascending priority: machine, user, this Python, and PIP_CONFIG_FILE."""
    home, given = Path(environ.get("HOME") or Path.home()), environ.get("PIP_CONFIG_FILE", "")
    if given == os.devnull:
        return []
    if sys.platform == "darwin":
        machine = [Path("/Library/Application Support/pip")]
        mac = home / "Library" / "Application Support" / "pip"
        user = mac if mac.is_dir() else home / ".config" / "pip"
    else:
        folders = (environ.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(os.pathsep)
        machine = [*(Path(folder) / "pip" for folder in folders), Path("/etc")]
        user = Path(environ.get("XDG_CONFIG_HOME") or home / ".config") / "pip"
    of_user = [] if given and Path(given).exists() else [home / ".pip", user]
    files = [folder / "pip.conf" for folder in (*machine, *of_user, Path(sys.prefix))]
    return [*files, Path(given)] if given else files


if __name__ == "__main__":
    if not sys.argv[1:]:
        print(mask(sys.stdin.buffer.read().decode(errors="replace")), end="")
        sys.exit()
    try:
        variables, options = uv_variables(os.environ), uv_options(os.environ)
    except SettingsInvalid as error:
        sys.exit(f"causeway: pip's configuration cannot be read: {error}")
    os.execvpe(sys.argv[1], [*sys.argv[1:], *options], os.environ | variables)  # noqa: S606 - the command is the caller's
