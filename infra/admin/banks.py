"""Commands for banks: registration, settings and keys."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from chalicelib.demo_bank.setup import install
from chalicelib.foundation.clock import timestamp
from chalicelib.foundation.crypto import signatures
from chalicelib.openbanking.protocol.versions import VERSIONS
from chalicelib.openbanking.records.bank_logos import logo_path
from chalicelib.openbanking.records.bank_record import CONSENT_DAYS, LONGEST_CONSENT_DAYS, SWITCHES, Bank, NewBank
from infra.admin import connection, output
from infra.admin.bank_options import (
    BalanceType,
    CreditLimit,
    CreditLimitUnstated,
    HistoryDays,
    NoDateTo,
    Schemes,
    Scopes,
    SignatureRequired,
    Subject,
    UnattendedReads,
    UnsignedAmounts,
    read_days,
    read_switches,
)
from infra.admin.output import ONCE, CommandRefused, Report, command, command_group, format_members, format_table
from infra.admin.probe import probe

_COLUMNS = ("bic", "name", "country", "api_version", "active", "domain")
_LISTED = (*_COLUMNS, "history_days", "logo_type")
group = command_group("Add, change and test banks, and manage their keys.")

BicArgument = Annotated[str, typer.Argument(metavar="BIC", help="The bank's BIC, 8 or 11 characters.")]
KeyFile = Annotated[Path, typer.Argument(metavar="FILE", help="A PEM file with an RSA public key.")]
_NAME = typer.Option(help="The bank's name, as shown to PSUs and TPPs.")
_COUNTRY = typer.Option(help="Two letters, ISO 3166-1.")
_API_VERSION = typer.Option(help=f"The protocol version it implements: {' or '.join(map(str, VERSIONS))}.")
_DOMAIN = typer.Option(metavar="URL", help="The base URL of its webhooks.")
_AUTHORIZATION_URL = typer.Option(metavar="URL", help="Its page where PSUs approve requests.")
_CONSENT_DAYS = typer.Option(help=f"How many days a consent lasts, from 1 to {LONGEST_CONSENT_DAYS}.")


@command(group, "add")
def add(
    bic: BicArgument,
    *,
    name: Annotated[str, _NAME],
    country: Annotated[str, _COUNTRY],
    api_version: Annotated[int, _API_VERSION],
    domain: Annotated[str, _DOMAIN],
    authorization_url: Annotated[str, _AUTHORIZATION_URL],
    public_key: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="A PEM file with an RSA public key to verify its signatures; at most two."),
    ] = None,
    scheme: Schemes = None,
    scope: Scopes = None,
    consent_days: Annotated[int, _CONSENT_DAYS] = CONSENT_DAYS,
    history_days: HistoryDays = None,
    certificate_subject: Subject = None,
    signature_required: SignatureRequired = None,
    unattended_reads: UnattendedReads = None,
    unsigned_amounts: UnsignedAmounts = None,
    balance_type: BalanceType = None,
    credit_limit: CreditLimit = None,
    credit_limit_unstated: CreditLimitUnstated = False,
    no_date_to: NoDateTo = None,
    inactive: Annotated[
        bool, typer.Option("--inactive", help="Register it as inactive: no client can use it.")
    ] = False,
) -> Report:
    """Register a bank and print its API key, once.

    The key authenticates the bank to the service, and the service to the bank. A bank is registered once: a BIC of 8
    characters and the same BIC followed by XXX identify one bank, and all commands accept both notations.

    \b
    Example:
      .venv/bin/python -m infra.admin banks add DEUTDEFF --name "Example Bank" --country DE --api-version 2
        --domain https://psd2.example.com --authorization-url https://example.com/consent --public-key bank.pem
    """
    switches = read_switches(
        unsigned_amounts=unsigned_amounts,
        balance_type=balance_type,
        credit_limit=credit_limit,
        credit_limit_unstated=credit_limit_unstated,
        no_date_to=no_date_to,
    )
    new = NewBank(
        bic=bic,
        name=name,
        country=country,
        api_version=api_version,
        domain=domain,
        authorization_url=authorization_url,
        public_keys=[_read_public_key(path) for path in public_key or ()],
        schemes=scheme or (),
        scopes=scope or (),
        consent_days=consent_days,
        certificate_subject=certificate_subject,
        signature_required=signature_required,
        unattended_reads=unattended_reads,
        active=not inactive,
        history_days=read_days(history_days or ""),
        **switches,
    )
    bank, api_key = connection.connect().openbanking.banks.add(new)
    text = f"{_format_bank(bank)}\n\nThe bank's API key: {api_key}\n{ONCE}"
    return Report({"bank": _bank_members(bank), "api_key": api_key}, text)


@command(group, "list")
def list_banks() -> Report:
    """List all banks.

    \b
    Example:
      .venv/bin/python -m infra.admin banks list --json
    """
    banks = [_bank_members(bank) for bank in connection.connect().openbanking.banks.all()]
    return Report({"banks": banks}, format_table(banks, _LISTED) if banks else "There are no banks.")


@command(group, "show")
def show(bic: BicArgument) -> Report:
    """Show a bank and the ids of its public keys, but never its API key.

    \b
    Example:
      .venv/bin/python -m infra.admin banks show DEMOGB21
    """
    bank = connection.connect().openbanking.banks.get(bic)
    return Report({"bank": _bank_members(bank)}, _format_bank(bank))


@command(group, "update")
def update(
    bic: BicArgument,
    *,
    name: Annotated[str | None, _NAME] = None,
    country: Annotated[str | None, _COUNTRY] = None,
    api_version: Annotated[int | None, _API_VERSION] = None,
    domain: Annotated[str | None, _DOMAIN] = None,
    authorization_url: Annotated[str | None, _AUTHORIZATION_URL] = None,
    scheme: Schemes = None,
    scope: Scopes = None,
    consent_days: Annotated[int | None, _CONSENT_DAYS] = None,
    history_days: HistoryDays = None,
    certificate_subject: Subject = None,
    signature_required: SignatureRequired = None,
    unattended_reads: UnattendedReads = None,
    unsigned_amounts: UnsignedAmounts = None,
    balance_type: BalanceType = None,
    credit_limit: CreditLimit = None,
    credit_limit_unstated: CreditLimitUnstated = False,
    no_date_to: NoDateTo = None,
    active: Annotated[
        bool | None, typer.Option("--active/--inactive", help="Whether clients can use it.", show_default=False)
    ] = None,
) -> Report:
    """Change settings of a bank; the change takes effect everywhere within a minute.

    A new API version resets scopes and schemes to all those of that version, and --balance-type and --no-date-to to
    their defaults, unless you pass them.

    \b
    Examples:
      .venv/bin/python -m infra.admin banks update DEMOGB21 --name "Demo Bank" --consent-days 90
      .venv/bin/python -m infra.admin banks update DEMOGB21 --unattended-reads 4
      .venv/bin/python -m infra.admin banks update DEMOGB21 --inactive
    """
    given: dict[str, Any] = {
        "name": name,
        "country": country,
        "api_version": api_version,
        "domain": domain,
        "authorization_url": authorization_url,
        "schemes": scheme or None,
        "scopes": scope or None,
        "consent_days": consent_days,
        "certificate_subject": certificate_subject,
        "signature_required": signature_required,
        "unattended_reads": unattended_reads,
        "active": active,
    }
    changes = {member: value for member, value in given.items() if value is not None}
    changes |= read_switches(
        unsigned_amounts=unsigned_amounts,
        balance_type=balance_type,
        credit_limit=credit_limit,
        credit_limit_unstated=credit_limit_unstated,
        no_date_to=no_date_to,
    )
    if history_days is not None:
        changes["history_days"] = read_days(history_days)
    if not changes:
        raise CommandRefused("no change was specified: see --help for the options")
    banks = connection.connect().openbanking.banks
    stored = banks.get(bic)
    if changes.get("api_version", stored.api_version) != stored.api_version:
        defaults = {name: getattr(Bank, name) for name in stored.version.switches}
        changes = {"scopes": (), "schemes": (), **defaults, **changes}
    bank = banks.change(bic, **changes)
    return Report({"bank": _bank_members(bank)}, _format_bank(bank))


@command(group, "test")
def probe_bank(bic: BicArgument) -> Report:
    """Send a bank a signed request and report the response.

    The request lists accounts without a consent, so the bank has to refuse it. Any response in the protocol's format
    counts as success. The exit code is 1 if there is no such response, or if the bank rejects the API key or the
    signature.

    \b
    Example:
      .venv/bin/python -m infra.admin banks test DEMOGB21
    """
    hub = connection.connect()
    outcome = probe(hub, hub.openbanking.banks.get(bic))
    if outcome["accepted"]:
        verdict = "responds. The request has no consent, so a refusal is the expected response"
    elif outcome["reachable"]:
        verdict = "responds, but does not accept the API key or the signature"
    else:
        verdict = "is unreachable, or does not implement the protocol"
    members = {name: value for name, value in outcome.items() if name not in ("bic", "reachable", "accepted")}
    return Report(outcome, f"{outcome['bic']} {verdict}.\n\n{format_members(members)}", good=outcome["accepted"])


@command(group, "rotate-key")
def rotate_key(
    bic: BicArgument,
    overlap: Annotated[
        int, output.overlap_option("How long the bank has to accept the new key before the service uses it.")
    ] = output.OVERLAP,
) -> Report:
    """Create a new API key and print it, once.

    \b
    How to proceed:
      1. Rotate, and give the printed key to the bank immediately.
      2. The bank starts to accept both keys from the service, and may already use the new one for its own calls.
      3. When the overlap ends, the service switches to the new key, and the bank may stop accepting the old one.

    The service accepts the bank's old key until the next rotation. Rotating again before the new key is in use
    replaces it. `banks show` lists when each key was created and when it comes into use; `banks test` uses the
    current key.

    \b
    If a key is compromised, rotate twice with --overlap 0, which invalidates it, and give the bank the second key.
    Until the bank has that key, it and the service refuse each other's calls.

    \b
    Examples:
      .venv/bin/python -m infra.admin banks rotate-key EXAMGB2L
      .venv/bin/python -m infra.admin banks rotate-key EXAMGB2L --overlap 0
    """
    banks = connection.connect().openbanking.banks
    api_key = banks.rotate_api_key(bic, overlap)
    bank = banks.get(bic)
    shown_from = timestamp(bank.api_keys[-1]["active_from"])
    text = (
        f"The new API key of {bank.bic}: {api_key}\n{ONCE}\n"
        f"Give it to the bank: the service uses it from {shown_from if overlap else 'now'} on.\n"
        "The service accepts it from the bank immediately, and the old key until the next rotation."
    )
    return Report({"bic": bank.bic, "api_key": api_key, "shown_from": shown_from}, text)


@command(group, "install-demo")
def install_demo() -> Report:
    """Register the four demonstration banks on a stage that provides them.

    Run the command again to replace lost credentials, or to update the banks after PUBLIC_URL has changed. In all other
    cases, a second run changes nothing. Create the stage's keys first (`keys init`).

    \b
    Example:
      STAGE=dev PUBLIC_URL=https://dev.example.com .venv/bin/python -m infra.admin banks install-demo
    """
    hub = connection.connect()
    if not hub.settings.is_sandbox:
        raise CommandRefused(f"the stage {hub.settings.stage} has no demonstration banks")
    banks = [_bank_members(bank) for bank in install(hub, hub.openbanking.banks)]
    return Report({"banks": banks}, format_table(banks, _COLUMNS))


@command(group, "add-public-key")
def add_public_key(bic: BicArgument, file: KeyFile) -> Report:
    """Add a public key to verify a bank's signatures; a bank has at most two.

    \b
    Example:
      .venv/bin/python -m infra.admin banks add-public-key DEMOGB21 new-key.pem
    """
    return _keys_report(connection.connect().openbanking.banks.add_public_key(bic, _read_public_key(file)))


@command(group, "remove-public-key")
def remove_public_key(
    bic: BicArgument, key_id: Annotated[str, typer.Argument(metavar="KEY-ID", help="As `banks show` prints it.")]
) -> Report:
    """Remove a public key; signatures made with its private key are refused.

    \b
    Example:
      .venv/bin/python -m infra.admin banks remove-public-key DEMOGB21 dde41c952786e949
    """
    return _keys_report(connection.connect().openbanking.banks.remove_public_key(bic, key_id))


@command(group, "remove")
def remove(
    bic: BicArgument,
    yes: Annotated[bool, typer.Option("--yes", help="Do not prompt for confirmation.")] = False,
    as_json: bool = False,
) -> Report:
    """Remove a bank. Its consents are kept, but calls to the bank are no longer possible.

    \b
    Example:
      .venv/bin/python -m infra.admin banks remove DEMOGB21 --yes
    """
    banks = connection.connect().openbanking.banks
    bank = banks.get(bic)
    if not yes:
        if as_json:
            raise CommandRefused("with --json a bank is removed only with --yes, because it cannot prompt")
        if not typer.confirm(f"Remove {bank.name} ({bank.bic}) and its keys?", err=True):
            raise CommandRefused(f"{bank.bic} was not removed")
    banks.remove(bank.bic)
    return Report({"removed": bank.bic}, f"{bank.bic} is removed.")


def _read_public_key(path: Path) -> str:
    try:
        pem = path.read_text(encoding="ascii")
    except OSError as error:
        raise CommandRefused(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise CommandRefused(f"{path} is not a PEM file") from None
    if "PRIVATE KEY-----" in pem:
        raise CommandRefused(f"{path} contains a private key, which must not leave the bank: use the public key")
    try:
        return signatures.public_pem(signatures.load_public_key(pem))
    except signatures.InvalidKey as error:
        raise CommandRefused(f"{path}: {error}") from None


def _bank_members(bank: Bank) -> dict[str, Any]:
    """Return a bank's members without its credentials."""
    return {
        **{name: getattr(bank, name) for name in (*_COLUMNS, "authorization_url")},
        "scopes": list(bank.scope_names),
        "schemes": list(bank.schemes),
        "consent_days": bank.consent_days,
        "history_days": bank.history_days,
        "logo": logo_path(bank.bic, bank.logo_digest),
        "logo_type": bank.logo_type,
        "conformance": bank.conformance,
        "certificate_subject": bank.certificate_subject,
        "signature_required": bank.signature_required,
        "unattended_reads": bank.unattended_reads,
        **{name: getattr(bank, name) for name in SWITCHES},
        "public_keys": [signatures.key_id(key) for key in reversed(bank.verification_keys)],
        "api_keys_made_at": [timestamp(entry["created_at"]) for entry in bank.api_keys],
        "api_keys_shown_from": [timestamp(entry["active_from"]) for entry in bank.api_keys],
    }


def _format_bank(bank: Bank) -> str:
    members = _bank_members(bank)
    listed = {name: ", ".join(members[name]) for name in ("scopes", "schemes")}
    report = bank.conformance
    conformance = f"{report['result']}, {report['started_at']}" if report else None
    return format_members(members | listed | {"conformance": conformance})


def _keys_report(bank: Bank) -> Report:
    ids = _bank_members(bank)["public_keys"]
    text = f"{bank.bic} may sign with: {', '.join(ids)}." if ids else f"{bank.bic} has no public key."
    return Report({"bic": bank.bic, "public_keys": ids}, text)
