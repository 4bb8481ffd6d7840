"""Creates the parts of the kit (key, hub, caller and PSU), checks that the bank is reachable, and runs the checks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

from chalicelib.foundation.clock import Clock, timestamp
from chalicelib.foundation.crypto import signatures
from chalicelib.foundation.http.outbound import NotReached, Outbound
from infra.conformance.bank_file import BankUnderTest
from infra.conformance.caller import Caller
from infra.conformance.check import Check, Result
from infra.conformance.checks import checks_of
from infra.conformance.hub import Hub
from infra.conformance.hub_server import serving
from infra.conformance.masking import Masking
from infra.conformance.psu import BrowserPsu, Psu, ScriptPsu
from infra.conformance.runner import Run, run_checks
from infra.conformance.session import Limits, Session
from infra.local import stackfile

KEY_FILE = "hub.pem"


class CannotRun(Exception):
    """The kit cannot run. The message is one sentence for the user."""


def load_key(bank: BankUnderTest, folder: Path) -> RSAPrivateKey:
    """Load the hub's key from the bank's file, or from ``folder``. The first run creates the key in ``folder``.

    Banks cache the hub's public keys for up to 60 s, so a bank would refuse a new key in every run.

    Raises:
        CannotRun: the key cannot be read or written.
    """
    if bank.private_key is not None:
        return bank.private_key
    file = folder / KEY_FILE
    try:
        if not file.exists():
            stackfile.write_private(file, signatures.generate_private_pem())
        return signatures.load_private_key(file.read_text("ascii"))
    except OSError as error:
        raise CannotRun(f"the hub's key in {file} cannot be read or written: {error.strerror}") from None
    except signatures.InvalidKey as error:
        raise CannotRun(f"the hub's key in {file} cannot be used: {error}; remove the file") from None


@contextmanager
def open_session(
    bank: BankUnderTest, key: RSAPrivateKey, output: TextIO, *, psu: Psu | None = None, limits: Limits | None = None
) -> Iterator[Session]:
    """Start the simulated hub and open a session with a bank. Raises: PortTaken, CannotRun."""
    limits = limits or Limits(report=bank.limits.report)
    outbound = Outbound(public_only=False, total_seconds=limits.answer, ca_file=bank.ca_file)
    session = make_session(bank, key, output, outbound, psu, limits)
    with serving(session.hub):
        _require_reachable(session)
        yield session


def make_session(
    bank: BankUnderTest, key: RSAPrivateKey, output: TextIO, outbound: Outbound, psu: Psu | None, limits: Limits
) -> Session:
    """Create a session with a bank without starting the simulated hub."""
    masking = Masking()
    masking.add(bank.api_key)
    masking.add_pem(_private_pem(key))
    hub = Hub(bank, key, masking, Clock())
    caller = Caller(bank.base_url, bank.api_key, key, masking, outbound, observers=[hub.observe])
    return Session(bank, hub, caller, psu or _psu(bank, hub, output), limits, _say_to(output))


def _private_pem(key: RSAPrivateKey) -> str:
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    return key.private_bytes(encoding, form, serialization.NoEncryption()).decode("ascii")


def _psu(bank: BankUnderTest, hub: Hub, output: TextIO) -> Psu:
    if bank.psu_mode == "script":
        return ScriptPsu(bank.psu_command, bank.limits.psu)
    return BrowserPsu(bank.limits.psu, output, hub.wait_for)


def _say_to(output: TextIO) -> Callable[[str], None]:
    def say(text: str) -> None:
        print(f"  {text}", file=output, flush=True)

    return say


def _require_reachable(session: Session) -> None:
    probed = session.version.webhooks[0]
    call = session.caller.send(probed, {}, token=None)
    session.caller.paused.clear()
    if isinstance(call.failure, NotReached):
        raise CannotRun(f"the bank cannot be reached at {session.bank.base_url}: {call.failure}")


def run(session: Session, checks: Sequence[Check], show: Callable[[Result], None]) -> Run:
    """Run checks against the bank of a session, and end the remaining consents."""
    clock, bank = session.hub.clock, session.bank
    started_at, started = timestamp(clock.time()), clock.monotonic()
    results = run_checks(session, checks, show)
    session.end_consents()
    seconds = clock.monotonic() - started
    is_full = {each.check_id for each in checks} >= {each.check_id for each in checks_of(bank.version)}
    number, narrowed = bank.version.number, _narrowed(bank)
    return Run(bank.bic, number, bank.base_url, started_at, seconds, tuple(results), is_full, narrowed)


def _narrowed(bank: BankUnderTest) -> str:
    parts = []
    if set(bank.scopes) != set(bank.version.scopes):
        parts.append(f"in the scopes {', '.join(bank.scopes)}")
    if bank.not_offered:
        parts.append(f"without {', '.join(sorted(bank.not_offered))}")
    return ", ".join(parts)
