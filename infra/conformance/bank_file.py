"""The file ``bank.yaml``, which describes a bank under test: format, defaults and validation.

Every fault is reported with its location. Reports quote no content of the file except the paths of other files.
"""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from chalicelib.foundation.crypto import signatures
from chalicelib.foundation.fields.ibans import is_iban
from chalicelib.foundation.http.addresses import InvalidAddress, check_address
from chalicelib.openbanking.protocol.version import Version
from chalicelib.openbanking.protocol.versions import VERSIONS
from infra import yaml_file

LISTEN = "127.0.0.1:9700"
T = TypeVar("T")
_PEM = "-----BEGIN "
_LONGEST_PATH = 255
"""Maximum length of a path that is quoted. A longer text may be a private key without its first line."""
Fault = tuple[str, str]
"""A fault in the file, with its location."""


class InvalidBankFile(ValueError):
    """The file is unusable. Each of ``faults`` is a sentence that starts with the location and contains no secret."""

    def __init__(self, faults: Iterable[str]) -> None:
        self.faults = tuple(faults)
        super().__init__("; ".join(self.faults))


def _matches(pattern: str, sentence: str) -> AfterValidator:
    expression = re.compile(pattern)

    def check(text: str) -> str:
        if not expression.fullmatch(text):
            raise ValueError(sentence)
        return text

    return AfterValidator(check)


def _check_base(url: str) -> str:
    try:
        check_address(url, local=True)
    except InvalidAddress as error:
        raise ValueError(str(error)) from None
    return url


def _check_base_url(url: str) -> str:
    if "?" in _check_base(url) or url.endswith("/"):
        raise ValueError("must have no query and no slash at the end")
    return url


def _check_printable(text: str) -> str:
    if not text.isprintable() or text != text.strip():
        raise ValueError("must be printable text without leading or trailing spaces")
    return text


def _check_ascii(text: str) -> str:
    if not text.isascii():
        raise ValueError("must be ASCII: it is sent in a header")
    return text


def _check_iban(text: str) -> str:
    if not is_iban(text):
        raise ValueError("is not a valid IBAN in capitals without spaces")
    return text


def _check_version(number: int) -> int:
    if number not in VERSIONS:
        raise ValueError(f"must be one of {', '.join(map(str, VERSIONS))}")
    return number


def _check_listen(text: str) -> str:
    host, _, port = text.rpartition(":")
    if not host or not re.fullmatch("[0-9]{1,5}", port) or not 0 < int(port) < 65536:
        raise ValueError("must be a host and a port, such as 127.0.0.1:9700")
    return text


Text = Annotated[str, Field(min_length=1, max_length=255), AfterValidator(_check_printable)]
BaseUrl = Annotated[str, AfterValidator(_check_base_url)]
Url = Annotated[str, AfterValidator(_check_base)]
Iban = Annotated[str, AfterValidator(_check_iban)]
Bic = Annotated[str, _matches(r"[A-Z0-9]{4}[A-Z]{2}[A-Z0-9]{2}([A-Z0-9]{3})?", "must have 8 or 11 capitals or digits")]
Money = Annotated[str, _matches(r"[0-9]{1,7}(\.[0-9]{1,3})?", "must be an amount such as 1.00, in quotes")]
Digits6 = Annotated[str, _matches("[0-9]{6}", "must have 6 digits, in quotes")]
Digits8 = Annotated[str, _matches("[0-9]{8}", "must have 8 digits, in quotes")]
Currency = Annotated[str, _matches("[A-Z]{3}", "must have three capitals")]
Seconds = Annotated[int, Field(ge=1, le=3600)]


class Part(BaseModel):
    """The base class of all parts of the file: strict types, no unknown members."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class HubPart(Part):
    """The addresses and the key of the kit."""

    listen: Annotated[str, AfterValidator(_check_listen)] = LISTEN
    public_url: BaseUrl | None = None
    private_key: str | None = None


class AccountPart(Part):
    """An account of the PSU, with the identifiers that the bank uses."""

    account_id: Text | None = None
    iban: Iban | None = None
    bban: Text | None = None
    account_number: Digits8 | None = None
    sort_code: Digits6 | None = None
    currency: Currency


class CustomerPart(Part):
    """The PSU of the test. Payments are made from the PSU's first account."""

    accounts: Annotated[list[AccountPart], Field(min_length=1)]
    scopes: Annotated[list[str], Field(min_length=1)] | None = None


class PsuPart(Part):
    """How the PSU acts on the bank's pages: a person with a browser, or a command."""

    mode: Literal["browser", "script"] = "browser"
    command: Text | None = None


class CreditorPart(Part):
    """The payee of test payments."""

    name: Text = "Conformance Test"
    iban: Iban | None = None
    account_number: Digits8 | None = None
    sort_code: Digits6 | None = None


class PaymentPart(Part):
    """The test payments."""

    amount: Money = "1.00"
    declined_amount: Money = "9999999.99"
    scheme: Text | None = None
    creditor: CreditorPart | None = None


class LimitsPart(Part):
    """The kit's timeouts in seconds, for the PSU, and for a status report or a revocation."""

    psu: Seconds = 300
    report: Seconds = 30


class BankPart(Part):
    """The whole file."""

    version: Annotated[int, AfterValidator(_check_version)]
    bic: Bic
    base_url: BaseUrl
    api_key: Annotated[
        str, Field(min_length=8, max_length=255), AfterValidator(_check_printable), AfterValidator(_check_ascii)
    ]
    hub: HubPart = HubPart()
    bank_public_key: str
    authorization_url: Url
    ca_file: str | None = None
    customer: CustomerPart
    not_offered: list[str] = []
    payment: PaymentPart = PaymentPart()
    psu: PsuPart = PsuPart()
    limits: LimitsPart = LimitsPart()


_CREDITORS = {
    "EUR": CreditorPart(iban="FR1420041010050500013M02606"),
    "GBP": CreditorPart(iban="GB33BUKB20201555555555"),
}
"""The payees of test payments, by currency. Their IBANs are documentation examples that belong to no bank customer."""


@dataclass(frozen=True, slots=True)
class BankUnderTest:
    """A bank as described by its file, with loaded keys. If ``private_key`` is ``None``, the kit creates a key."""

    version: Version
    bic: str
    base_url: str
    api_key: str
    listen: tuple[str, int]
    public_url: str
    private_key: RSAPrivateKey | None
    bank_public_key: RSAPublicKey
    authorization_url: str
    ca_file: str | None
    accounts: tuple[AccountPart, ...]
    scopes: tuple[str, ...]
    not_offered: frozenset[str]
    payment: PaymentPart
    creditor: CreditorPart
    psu_mode: Literal["browser", "script"]
    psu_command: tuple[str, ...]
    limits: LimitsPart

    def in_other_currency(self) -> BankUnderTest | None:
        """Return the bank with payments in a currency that no account has; ``None`` if no such currency exists."""
        held = {account.currency for account in self.accounts}
        other = next((currency for currency in _CREDITORS if currency not in held), None)
        if other is None:
            return None
        first = self.accounts[0].model_copy(update={"currency": other})
        payment = self.payment.model_copy(update={"scheme": None})
        return replace(self, accounts=(first, *self.accounts[1:]), payment=payment, creditor=_CREDITORS[other])


def read(path: Path) -> BankUnderTest:
    """Read a bank's file. Raises: InvalidBankFile."""
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise InvalidBankFile([f"the file cannot be read: {error.strerror}"]) from None
    except UnicodeDecodeError:
        raise InvalidBankFile(["the file is not UTF-8 text"]) from None
    return parse(text, path.parent)


def parse(text: str, folder: Path) -> BankUnderTest:
    """Parse a bank's file. Paths in the file are relative to ``folder``. Raises: InvalidBankFile."""
    try:
        part = BankPart.model_validate(yaml_file.parse_yaml(text))
    except yaml_file.InvalidYaml as error:
        raise InvalidBankFile([str(error)]) from None
    except ValidationError as error:
        raise InvalidBankFile(yaml_file.explain_faults(error)) from None
    keys = _Keys(folder)
    private_key = keys.load("hub.private_key", part.hub.private_key, signatures.load_private_key)
    public_key = keys.load("bank_public_key", part.bank_public_key, signatures.load_public_key)
    if faults := [f"{place} {said}" for place, said in (*keys.faults, *_find_faults(part, folder))]:
        raise InvalidBankFile(faults)
    assert public_key is not None
    return _build(part, folder, private_key, public_key)


class _Keys:
    """Loads keys from PEM text or from a file, and collects the faults."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.faults: list[Fault] = []

    def load(self, place: str, given: str | None, parse_pem: Callable[[str], T]) -> T | None:
        if given is None:
            return None
        try:
            return parse_pem(given if given.lstrip().startswith(_PEM) else (self._folder / given).read_text("ascii"))
        except signatures.InvalidKey as error:
            self.faults.append((place, f"cannot be used: {error}"))
        except OSError as error:
            tried = f": {_resolved(self._folder, given)}" if len(given) <= _LONGEST_PATH else ""
            self.faults.append((place, f"names a file that cannot be read: {error.strerror}{tried}"))
        except ValueError:
            self.faults.append((place, "cannot be used: this is not a PEM key"))
        return None


def _find_faults(part: BankPart, folder: Path) -> Iterator[Fault]:
    version = VERSIONS[part.version]
    scopes = part.customer.scopes or list(version.scopes)
    for position, scope in enumerate(scopes):
        if scope not in version.scopes:
            yield f"customer.scopes.{position}", f"must be one of {', '.join(version.scopes)}"
        elif scope in scopes[:position]:
            yield f"customer.scopes.{position}", "occurs twice"
    paths = [webhook.path for webhook in version.webhooks if webhook is not version.revoke_token]
    for position, path in enumerate(part.not_offered):
        if path not in paths:
            yield f"not_offered.{position}", f"must be one of {', '.join(paths)}"
    if part.hub.public_url is None and part.hub.listen.startswith(("0.0.0.0:", "[::]:")):
        yield "hub.public_url", "is missing: hub.listen does not say how the bank reaches the kit"
    yield from _wrong_accounts(part, version, scopes)
    yield from _wrong_payment(part)
    yield from _wrong_psu(part.psu)
    if part.ca_file is not None and not (folder / part.ca_file).is_file():
        yield "ca_file", f"names a file that does not exist: {_resolved(folder, part.ca_file)}"


def _resolved(folder: Path, given: str) -> Path:
    return (folder / given).resolve()


def _wrong_accounts(part: BankPart, version: Version, scopes: list[str]) -> Iterator[Fault]:
    by_iban = any("iban" in webhook.request.model_fields for webhook in version.relayed.values())
    for position, account in enumerate(part.customer.accounts):
        place = f"customer.accounts.{position}"
        if (account.account_number is None) != (account.sort_code is None):
            yield place, "must have account_number and sort_code together"
        reads = any(version.scopes[name].needs_accounts for name in scopes if name in version.scopes)
        if reads and account.account_id is None and not (by_iban and account.iban):
            yield f"{place}.account_id", "is missing" if not by_iban else "or iban is missing"


def _wrong_payment(part: BankPart) -> Iterator[Fault]:
    currency, creditor = part.customer.accounts[0].currency, part.payment.creditor
    for name in ("amount", "declined_amount"):
        if not Decimal(getattr(part.payment, name)):
            yield f"payment.{name}", "must be more than 0"
    if creditor is None and currency not in _CREDITORS:
        yield "payment.creditor", f"is missing: the kit knows a payee for {' and '.join(_CREDITORS)} only"
    if creditor is not None and creditor.iban is None and (creditor.account_number is None or not creditor.sort_code):
        yield "payment.creditor", "must have iban, or account_number and sort_code"
    if part.payment.scheme is None and currency not in ("EUR", "GBP"):
        yield "payment.scheme", "is missing: only payments in EUR and GBP have a default scheme"
    if part.payment.scheme is not None and part.payment.scheme not in VERSIONS[part.version].schemes:
        yield "payment.scheme", f"must be one of {', '.join(VERSIONS[part.version].schemes)}"


def _wrong_psu(psu: PsuPart) -> Iterator[Fault]:
    if psu.mode == "browser" and psu.command is not None:
        yield "psu.command", "is for mode script only"
    if psu.mode == "script":
        yield from _wrong_command(psu.command)


def _wrong_command(command: str | None) -> Iterator[Fault]:
    try:
        words = shlex.split(command or "")
    except ValueError:
        yield "psu.command", "has a quotation mark without its counterpart"
        return
    if not words:
        yield "psu.command", "is missing: mode script needs it"
    elif shutil.which(words[0]) is None:
        yield "psu.command", "names a program that does not exist or cannot be executed"


def _build(part: BankPart, folder: Path, private_key: RSAPrivateKey | None, public_key: RSAPublicKey) -> BankUnderTest:
    version = VERSIONS[part.version]
    host, _, port = part.hub.listen.rpartition(":")
    return BankUnderTest(
        version=version,
        bic=part.bic,
        base_url=part.base_url,
        api_key=part.api_key,
        listen=(host.strip("[]"), int(port)),
        public_url=part.hub.public_url or f"http://{part.hub.listen}",
        private_key=private_key,
        bank_public_key=public_key,
        authorization_url=part.authorization_url,
        ca_file=str(folder / part.ca_file) if part.ca_file else None,
        accounts=tuple(part.customer.accounts),
        scopes=tuple(part.customer.scopes or version.scopes),
        not_offered=frozenset(part.not_offered),
        payment=part.payment,
        creditor=part.payment.creditor or _CREDITORS[part.customer.accounts[0].currency],
        psu_mode=part.psu.mode,
        psu_command=tuple(shlex.split(part.psu.command or "")),
        limits=part.limits,
    )
