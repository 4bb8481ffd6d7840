"""Commands for client certificates: a development CA, and the blocklist that replaces revocation."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, cast, get_args

import typer
from cryptography import x509

from chalicelib.foundation.clock import timestamp
from chalicelib.foundation.crypto.certificates import InvalidCertificate, read_certificate
from chalicelib.foundation.crypto.distinguished_names import normalize_name
from chalicelib.openbanking.container import OpenBankingContainer
from chalicelib.openbanking.flows.bank.authentication import check_certificate
from chalicelib.openbanking.oauth.credential_checks import PresentedCertificate
from chalicelib.openbanking.protocol.scopes import Role
from chalicelib.openbanking.records.certificate_blocklist import BlockedCertificate
from infra.admin import connection
from infra.admin.output import CommandRefused, Report, command, command_group, format_members, format_table
from infra.local import stackfile
from infra.local.client_certificate import format_name
from infra.local.development_ca import ClientSubject, DevelopmentCa, folder

group = command_group("Issue client certificates for tests, and block certificates.")

_IDENTIFIER = re.compile(r"PSD[A-Z]{2}-[A-Z]{2,8}-[!-~]{1,50}")
_LONGEST_NAME = 64
_ROLES: tuple[Role, ...] = get_args(Role)

Issuer = Annotated[
    str | None, typer.Argument(metavar="ISSUER", help="The issuer as an RFC 4514 string. Not with --file.")
]
Serial = Annotated[
    str | None, typer.Argument(metavar="SERIAL", help="The serial number, hexadecimal. Not with --file.")
]
CertificateFile = Annotated[
    Path | None, typer.Option("--file", metavar="CERT.pem", help="The certificate itself, in place of both.")
]


@command(group, "issue")
def issue(
    common_name: Annotated[str, typer.Option(metavar="NAME", help="The common name; 1 to 64 characters.")],
    role: Annotated[
        list[str] | None,
        typer.Option(metavar="ROLE", help=f"A PSD2 role: {', '.join(_ROLES)}. Needs --organization-identifier."),
    ] = None,
    organization_identifier: Annotated[
        str | None, typer.Option(metavar="IDENTIFIER", help="The TPP's authorisation number, such as PSDGB-FCA-123456.")
    ] = None,
    bank: Annotated[
        bool, typer.Option("--bank", help="A certificate for a bank: bank.pem, without PSD2 roles.")
    ] = False,
    days: Annotated[int, typer.Option(min=1, max=825, help="How long it is valid.")] = 90,
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Where the files are written.")] = Path(),
) -> Report:
    """Issue a client certificate of the development CA, to try mutual TLS.

    The CA is created on first use, in .local/tls/, and trusted by a stack started with `make run TLS=1`. It is not
    for production. Without a role, the certificate has no PSD2 statement.

    \b
    Examples:
      .venv/bin/python -m infra.admin certificates issue --role PSP_AI --role PSP_PI
        --organization-identifier PSDGB-FCA-123456 --common-name "Budget Friend" --out build
      .venv/bin/python -m infra.admin certificates issue --bank --common-name api.bank.example --out build
    """
    if os.environ.get("STAGE") == "prod":
        raise CommandRefused(
            "the development CA issues no certificates in prod: TPPs bring those of a trusted authority"
        )
    subject = _check_subject(common_name, organization_identifier, role or (), bank)
    ca = DevelopmentCa(folder(stackfile.location()))
    pem, key = ca.issue_client(subject, days)
    made = _write(out, "bank" if bank else "tpp", pem, key) | {"ca": str(ca.file), "roles": list(subject.roles)}
    members = made | _certificate_members(pem, bank=bank)
    return Report({"certificate": members}, format_members(members))


@command(group, "block")
def block(
    issuer: Issuer = None,
    serial: Serial = None,
    file: CertificateFile = None,
    reason: Annotated[str, typer.Option(help="Why, for the list.")] = "",
) -> Report:
    """Block a certificate. A TPP's certificate is refused from the next call on, a bank's certificate within a minute.

    API Gateway checks no revocation lists, so a revoked certificate must be blocked with this command. Blocking a
    certificate again replaces the reason.

    \b
    Examples:
      .venv/bin/python -m infra.admin certificates block "CN=Example CA,C=GB" 0a:1b:2c --reason "key compromised"
      .venv/bin/python -m infra.admin certificates block --file build/tpp.pem
    """
    found = connection.connect().openbanking.certificate_blocklist.block(*_identify(issuer, serial, file), reason)
    return Report({"blocked": _blocked_members(found)}, f"{found.serial_number} of {found.issuer} is blocked.")


@command(group, "unblock")
def unblock(issuer: Issuer = None, serial: Serial = None, file: CertificateFile = None) -> Report:
    """Accept a blocked certificate again.

    \b
    Examples:
      .venv/bin/python -m infra.admin certificates unblock "CN=Example CA,C=GB" 0a:1b:2c
      .venv/bin/python -m infra.admin certificates unblock --file build/tpp.pem
    """
    which = _identify(issuer, serial, file)
    if not connection.connect().openbanking.certificate_blocklist.unblock(*which):
        raise CommandRefused(f"{which[1]} of {which[0]} is not blocked")
    return Report({"unblocked": dict(zip(("issuer", "serial_number"), which, strict=True))}, "It is accepted again.")


@command(group, "blocked")
def blocked() -> Report:
    """List the blocked certificates, the latest first.

    \b
    Example:
      .venv/bin/python -m infra.admin certificates blocked
    """
    rows = [_blocked_members(each) for each in connection.connect().openbanking.certificate_blocklist.all()]
    columns = ("blocked_at", "serial_number", "issuer", "reason")
    return Report({"blocked": rows}, format_table(rows, columns) if rows else "No certificates are blocked.")


@command(group, "explain")
def explain(
    file: Annotated[Path, typer.Argument(metavar="CERT.pem", help="The certificate, in PEM.")],
    bank: Annotated[
        str | None, typer.Option(metavar="BIC", help="The bank that presents it; without, it is a TPP's.")
    ] = None,
) -> Report:
    """Explain whether the service currently accepts a certificate. The exit code is 1 if the certificate is refused.

    A TPP's certificate is checked against the authorities in TPP_CA_BUNDLE, the validity dates and the blocklist. A
    bank's certificate is checked against the authorities in BANK_CA_BUNDLE, the validity dates, the blocklist and the
    subject in the bank's record. For a deployed stage, set the variable to the value that the stage uses.

    \b
    Examples:
      .venv/bin/python -m infra.admin certificates explain build/tpp.pem
      .venv/bin/python -m infra.admin certificates explain build/bank.pem --bank EXAMGB2L
    """
    pem = _read_file(file)
    members = _certificate_members(pem, bank=bank is not None)
    reason = _find_fault(pem, connection.connect().openbanking, bank)
    verdict = "It is accepted." if reason is None else f"It is refused: {reason}."
    data = {"certificate": members, "accepted": reason is None, "reason": reason}
    return Report(data, f"{verdict}\n\n{format_members(members)}", good=reason is None)


def _find_fault(pem: str, openbanking: OpenBankingContainer, bic: str | None) -> str | None:
    """Return why the service refuses the certificate of a TPP, or of the bank ``bic``; ``None`` if it is accepted.

    Raises: CommandRefused, UnknownBank.
    """
    try:
        found = read_certificate(pem)
        if bic is None:
            is_blocked = openbanking.certificate_blocklist.is_blocked(found.issuer, found.serial_number)
            openbanking.credential_checks.require_trusted(PresentedCertificate(found, is_blocked))
            return None
        bank = openbanking.banks.get(bic)
        if bank.certificate_subject is None:
            raise CommandRefused(
                f"the record of {bank.bic} names no certificate subject, so its calls need no certificate"
            )
        parsed = x509.load_pem_x509_certificate(pem.encode())
        openbanking.call(check_certificate, bank, {"clientCertPem": pem, "subjectDN": format_name(parsed.subject)})
    except InvalidCertificate as error:
        return str(error)
    return None


def _check_subject(name: str, identifier: str | None, roles: Sequence[str], bank: bool) -> ClientSubject:
    if not 0 < len(name.encode()) <= _LONGEST_NAME:
        raise typer.BadParameter(f"--common-name must have 1 to {_LONGEST_NAME} characters")
    if bank and (roles or identifier):
        raise typer.BadParameter("--bank excludes --role and --organization-identifier")
    if unknown := [each for each in roles if each not in _ROLES]:
        raise typer.BadParameter(f"--role must be one of {', '.join(_ROLES)}, not {unknown[0]}")
    if roles and not identifier:
        raise typer.BadParameter("--role needs --organization-identifier")
    if identifier and not _IDENTIFIER.fullmatch(identifier):
        raise typer.BadParameter("--organization-identifier must have the form PSDGB-FCA-123456")
    return ClientSubject(name, identifier, tuple(cast(Sequence[Role], dict.fromkeys(roles))))


def _write(out: Path, name: str, pem: str, key: str) -> dict[str, str]:
    files = {"certificate": out / f"{name}.pem", "key": out / f"{name}-key.pem"}
    try:
        for file, content in zip(files.values(), (pem, key), strict=True):
            stackfile.write_private(file, content)
    except OSError as error:
        raise CommandRefused(f"{out} cannot be written to: {error.strerror}") from None
    return {member: str(file) for member, file in files.items()}


def _certificate_members(pem: str, *, bank: bool) -> dict[str, Any]:
    found, parsed = read_certificate(pem), x509.load_pem_x509_certificate(pem.encode())
    return {
        "subject": found.subject,
        **({"certificate_subject": format_name(parsed.subject)} if bank else {}),
        "organization_identifier": found.organization_identifier,
        "issuer": found.issuer,
        "serial_number": found.serial_number,
        "thumbprint": found.thumbprint,
        "valid_until": timestamp(int(parsed.not_valid_after_utc.timestamp())),
    }


def _identify(issuer: str | None, serial: str | None, file: Path | None) -> tuple[str, str]:
    if file is None:
        if issuer is None or serial is None:
            raise typer.BadParameter("pass either ISSUER and SERIAL, or --file")
        return normalize_name(issuer), serial
    if issuer is not None:
        raise typer.BadParameter("pass either ISSUER and SERIAL, or --file")
    found = read_certificate(_read_file(file))
    return found.issuer, found.serial_number


def _read_file(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise CommandRefused(f"{file} cannot be read") from None


def _blocked_members(found: BlockedCertificate) -> dict[str, Any]:
    members = {"issuer": found.issuer, "serial_number": found.serial_number, "reason": found.reason}
    return {"blocked_at": timestamp(found.blocked_at), **members}
