"""The command ``causeway``."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import urlsplit

from causeway import __version__
from causeway.errors import CausewayError, ConfigurationError

if TYPE_CHECKING:
    from causeway._listen_state import StateFile
    from causeway.listen import Interrupts
    from causeway.tpp import Tpp

STOPPED = "Stopped. The next start goes on here."
LISTEN = """Fetch a client's events from the hub, and forward them to a program that the hub cannot reach.

Each event is a POST, signed as at an Events URL (Standard Webhooks) with the secret that is printed first. The client
must be set to fetch its events. A receiver that fails gets an event four times within 36 s; one that cannot be reached
is waited for. A crash can forward an event again, under the same webhook-id."""

SECRETS = """Others can see the options of a command: a client secret is taken from CAUSEWAY_CLIENT_SECRET or a
file, and the password of a private key from CAUSEWAY_CLIENT_KEY_PASSWORD."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return the exit code: 0 for success, 1 for failure. Invalid options exit with 2."""
    try:
        options = parser(os.environ).parse_args(arguments)
        return int(options.run(options))
    except KeyboardInterrupt:
        show(STOPPED)
        return 0
    except ConfigurationError as error:
        print(printable(f"causeway: {error}"), file=sys.stderr)
        return 1
    except CausewayError as error:
        print(printable(f"causeway: {error}. {error.advice}"), file=sys.stderr)
        return 1
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nobody reads the lines anymore
        return 1


def parser(environ: Mapping[str, str]) -> argparse.ArgumentParser:
    """Build the parser of the command-line options. The default of each option is its environment variable."""
    made = argparse.ArgumentParser(prog="causeway", description="Tools for clients of the Causeway open-banking hub.")
    made.add_argument("--version", action="version", version=__version__)
    commands = made.add_subparsers(required=True, metavar="COMMAND")
    listen = commands.add_parser(
        "listen",
        help="forward a client's events to a program behind a firewall",
        description=LISTEN,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=SECRETS,
    )
    add_listen_options(listen, environ)
    listen.set_defaults(run=run_listen)
    return made


def add_listen_options(listen: argparse.ArgumentParser, environ: Mapping[str, str]) -> None:
    """Add the options of ``causeway listen``."""

    def option(name: str, variable: str, metavar: str, text: str) -> None:
        given = environ.get(variable) or None
        listen.add_argument(name, metavar=metavar, default=given, help=f"{text} ({variable})")

    listen.add_argument("--forward-to", metavar="URL", required=True, help="the receiver's address")
    listen.add_argument(
        "--types", metavar="A,B*", default="", help="forward only these event types; * stands for any text"
    )
    listen.add_argument("--resend", metavar="ID", action="append", help="forward this event again, and end; repeatable")
    option("--base-url", "CAUSEWAY_BASE_URL", "URL", "the hub's address")
    option("--client-id", "CAUSEWAY_CLIENT_ID", "ID", "the client's id")
    option("--client-secret-file", "CAUSEWAY_CLIENT_SECRET_FILE", "FILE", "a file with the client secret")
    option("--client-key", "CAUSEWAY_CLIENT_KEY", "FILE", "a file with the private key of private_key_jwt, PEM or JWK")
    option("--client-key-id", "CAUSEWAY_CLIENT_KEY_ID", "KID", "the kid of the private key, unless its JWK has one")
    option("--state", "CAUSEWAY_LISTEN_STATE", "FILE", "where to keep the secret and the place of the last event")


def run_listen(options: argparse.Namespace) -> int:
    """Forward all events until an interrupt, or only the events of ``--resend``."""
    from causeway.listen import Interrupts

    interrupts = Interrupts()
    interrupts.install()
    with client(options, os.environ) as tpp:
        file = state_file(options.state, tpp.base_url, tpp.client_id, os.environ)
        if not options.resend:
            listen(options, tpp, file, interrupts)
        try:
            return 0 if resend(options, tpp, file, interrupts) else 1
        except KeyboardInterrupt:
            return 1


def resend(options: argparse.Namespace, tpp: Tpp, file: StateFile, interrupts: Interrupts) -> bool:
    """Forward selected events again, even if another process is listening."""
    from causeway.listen import Listener, Receiver

    with nullcontext() if file.path.exists() else file.locked():
        state = file.load(tpp.base_url, tpp.client_id)
    with closing(Receiver(options.forward_to, state.secret)) as receiver:
        listener = Listener(tpp, receiver, file, state, show, interrupts=interrupts)
        return listener.resend(options.resend)


def listen(options: argparse.Namespace, tpp: Tpp, file: StateFile, interrupts: Interrupts) -> NoReturn:
    """Forward all events until an interrupt."""
    from causeway.listen import Listener, Receiver, unknown_types

    types = [part.strip() for part in options.types.split(",") if part.strip()]
    with file.locked():
        state = file.load(tpp.base_url, tpp.client_id)
        with closing(Receiver(options.forward_to, state.secret)) as receiver:
            show(f"Signing secret: {state.secret}")
            show(f"Forwarding events of the client {tpp.client_id} to {receiver.url_without_password}. Ctrl-C ends it.")
            for pattern in unknown_types(types):
                show(f"No event type that this version knows is {pattern}.")
            Listener(tpp, receiver, file, state, show, types, interrupts).run()


def client(options: argparse.Namespace, environ: Mapping[str, str]) -> Tpp:
    """Create the client that the options describe. Raises ``ConfigurationError`` if a setting is missing."""
    from causeway._addresses import base_address
    from causeway.tpp import PrivateKeyJwt, Retries, Tpp

    for name, variable in (("base_url", "CAUSEWAY_BASE_URL"), ("client_id", "CAUSEWAY_CLIENT_ID")):
        if not getattr(options, name):
            raise ConfigurationError(f"--{name.replace('_', '-')} or {variable} is missing")
    base_url = base_address(options.base_url, "--base-url")
    secret = client_secret(options, environ)
    if secret is None and not options.client_key:
        raise ConfigurationError("CAUSEWAY_CLIENT_SECRET, --client-secret-file or --client-key is missing")
    given: dict[str, Any] = {"client_secret": secret}
    if options.client_key:
        password = environ.get("CAUSEWAY_CLIENT_KEY_PASSWORD") or None
        given["assertion"] = PrivateKeyJwt.load(options.client_key, kid=options.client_key_id, password=password)
    retries = Retries() if options.resend else Retries(waits=())
    return Tpp(base_url, client_id=options.client_id, retries=retries, **given)


def client_secret(options: argparse.Namespace, environ: Mapping[str, str]) -> str | None:
    """Read the client secret from its file or from the environment."""
    if not options.client_secret_file:
        return environ.get("CAUSEWAY_CLIENT_SECRET") or None
    try:
        secret = Path(options.client_secret_file).read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        raise ConfigurationError(f"the file {options.client_secret_file!r} cannot be read") from None
    if not secret:
        raise ConfigurationError(f"the file {options.client_secret_file!r} is empty")
    return secret


def state_file(path: str | None, base_url: str, client_id: str, environ: Mapping[str, str]) -> StateFile:
    """Return the state file in the user's state folder. Each client of each hub has its own file."""
    from causeway._listen_state import StateFile

    if path:
        return StateFile(Path(path))
    folder = environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    name = re.sub(r"[^A-Za-z0-9._-]", "_", f"listen-{urlsplit(base_url).netloc}-{client_id}.json")
    return StateFile(Path(folder) / "causeway" / name)


def show(line: str) -> None:
    """Print a line immediately."""
    print(printable(line), flush=True)


def printable(line: str) -> str:
    """Remove terminal control characters from a line."""
    return "".join(character if character.isprintable() else "?" for character in line)
