"""The bank file has defaults, and every error is reported with its location."""

import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from chalicelib.foundation.crypto import signatures
from chalicelib.openbanking.protocol.versions import VERSIONS
from infra.conformance import bank_file
from infra.conformance.bank_file import InvalidBankFile
from tests.kit.documents import ROOT

PEM = signatures.generate_private_pem()
PUBLIC = signatures.public_pem(signatures.load_private_key(PEM).public_key())
MINIMAL = f"""\
version: 2
bic: EXAMDEFF
base_url: https://bank.example.com/hooks
api_key: a-key-of-the-bank
bank_public_key: |
  {PUBLIC.strip().replace(chr(10), chr(10) + "  ")}
authorization_url: https://bank.example.com/consent
customer:
  accounts:
    - account_id: "1"
      iban: DE89370400440532013000
      currency: EUR
"""


def faults(text: str, folder: Path = Path()) -> tuple[str, ...]:
    with pytest.raises(InvalidBankFile) as caught:
        bank_file.parse(text, folder)
    return caught.value.faults


def changed(old: str, new: str) -> str:
    assert old in MINIMAL
    return MINIMAL.replace(old, new)


def test_a_minimal_bank_file_has_the_documented_defaults() -> None:
    bank = bank_file.parse(MINIMAL, Path())

    assert bank.version is VERSIONS[2]
    assert bank.listen == ("127.0.0.1", 9700)
    assert bank.public_url == "http://127.0.0.1:9700"
    assert bank.private_key is None
    assert bank.scopes == tuple(VERSIONS[2].scopes)
    assert (bank.psu_mode, bank.psu_command) == ("browser", ())
    assert (bank.payment.amount, bank.payment.declined_amount, bank.payment.scheme) == ("1.00", "9999999.99", None)
    assert bank.creditor.iban == "FR1420041010050500013M02606"
    assert (bank.limits.psu, bank.limits.report) == (300, 30)
    assert (bank.not_offered, bank.ca_file) == (frozenset(), None)


def test_bank_file_keys_are_pem_text_or_paths_relative_to_the_file(tmp_path: Path) -> None:
    (tmp_path / "hub.pem").write_text(PEM, "ascii")
    (tmp_path / "bank.yaml").write_text(MINIMAL + "hub: {private_key: hub.pem}\n", "utf-8")
    bank = bank_file.read(tmp_path / "bank.yaml")

    assert bank.private_key is not None
    assert signatures.public_pem(bank.private_key.public_key()) == PUBLIC
    assert signatures.public_pem(bank.bank_public_key) == PUBLIC


def test_the_bank_file_of_the_guide_is_valid(tmp_path: Path) -> None:
    (tmp_path / ".local").mkdir()
    (tmp_path / ".local/bank.public.pem").write_text(PUBLIC, "ascii")
    text = (ROOT / "docs/guides/bank.yaml").read_text("utf-8").replace(".venv/bin/python", "python3")
    folder = tmp_path / "docs/guides"
    folder.mkdir(parents=True)

    scopes = bank_file.parse(text, folder).scopes
    assert scopes == ("accounts", "accounts.balances", "accounts.transactions", "payments.single")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", ("the file must have members",)),
        ("version: [", ("line 1, column 11: expected the node content, but found '<stream end>'",)),
        (MINIMAL + "version: 2", ("line 21, column 1: a member occurs twice",)),
        (MINIMAL + "other: 1", ("other is unknown",)),
        (changed("version: 2", "version: 3"), ("version must be one of 1, 2",)),
        (changed("version: 2", "version: '2'"), ("version must be a whole number",)),
        (changed("bic: EXAMDEFF\n", ""), ("bic is missing",)),
        (changed("EXAMDEFF", "examdeff"), ("bic must have 8 or 11 capitals or digits",)),
        (changed("https://bank.example.com/hooks", "bank.example.com"), ("base_url must begin with https",)),
        (changed("/hooks", "/hooks/"), ("base_url must have no query and no slash at the end",)),
        (changed("a-key-of-the-bank", "short"), ("api_key must have at least 8 characters",)),
        (changed('account_id: "1"', "account_id: 1"), ("customer.accounts.0.account_id must be text",)),
        (changed('account_id: "1"', "bban: '1'"), ("customer.accounts.0.account_id is missing",)),
        (changed("DE89", "DE88"), ("customer.accounts.0.iban is not a valid IBAN",)),
        (changed("currency: EUR", "currency: eur"), ("customer.accounts.0.currency must have three capitals",)),
        (changed("currency: EUR", "currency: SEK"), ("payment.creditor is missing", "payment.scheme is missing")),
        (MINIMAL + "  scopes: [payments.all]", ("customer.scopes.0 must be one of accounts, ",)),
        (MINIMAL + "  scopes: [accounts, accounts]", ("customer.scopes.1 occurs twice",)),
        (MINIMAL + "  scopes: []", ("customer.scopes must not be empty",)),
        (MINIMAL + "not_offered: [/accounts]", ("not_offered.0 must be one of /v2_accounts",)),
        (MINIMAL + "hub: {listen: localhost}", ("hub.listen must be a host and a port",)),
        (MINIMAL + "hub: {listen: 'localhost:99999'}", ("hub.listen must be a host and a port",)),
        (MINIMAL + "hub: {listen: '0.0.0.0:9700'}", ("hub.public_url is missing: hub.listen does not say",)),
        (MINIMAL + "hub: {public_url: 'ftp://a'}", ("hub.public_url must begin with https",)),
        (MINIMAL + "hub: {private_key: none.pem}", ("hub.private_key names a file that cannot be read",)),
        (MINIMAL + "payment: {amount: 1.00}", ()),
        (MINIMAL + "payment: {amount: '0.00'}", ("payment.amount must be more than 0",)),
        (MINIMAL + "payment: {amount: '1,00'}", ("payment.amount must be an amount",)),
        (MINIMAL + "payment: {scheme: SEPA}", ("payment.scheme must be one of FPS, ",)),
        (MINIMAL + "payment: {creditor: {name: A}}", ("payment.creditor must have iban, or account_number",)),
        (MINIMAL + "psu: {mode: robot}", ("psu.mode must be 'browser' or 'script'",)),
        (MINIMAL + "psu: {mode: script}", ("psu.command is missing",)),
        (MINIMAL + "psu: {mode: script, command: no-such-program x}", ("psu.command names a program that does not",)),
        (MINIMAL + 'psu: {mode: script, command: "\'a"}', ("psu.command has a quotation mark",)),
        (MINIMAL + "psu: {command: ls}", ("psu.command is for mode script only",)),
        (MINIMAL + "limits: {psu: 0}", ("limits.psu must be greater than or equal to 1",)),
        (MINIMAL + "ca_file: none.pem", ("ca_file names a file that does not exist",)),
    ],
)
def test_every_error_of_a_bank_file_is_reported_with_the_location(text: str, said: tuple[str, ...]) -> None:
    if not said:
        bank_file.parse(text, Path())
        return
    found = faults(text)

    assert len(found) == len(said)
    for fault, start in zip(found, said, strict=True):
        assert fault.startswith(start)


def test_several_errors_of_a_bank_file_are_reported_together() -> None:
    text = changed("DE89", "DE88").replace("EXAMDEFF", "x").replace("version: 2", "version: 9")

    assert [fault.partition(" ")[0] for fault in faults(text)] == ["version", "bic", "customer.accounts.0.iban"]


@pytest.mark.parametrize(
    ("break_key", "said"),
    [
        (lambda pem: "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----", "this is not a PEM public key"),
        (lambda pem: PEM, "this is not a PEM public key"),
    ],
)
def test_the_error_for_an_unusable_key_contains_the_member_name_but_no_key_content(
    break_key: Callable[[str], str], said: str
) -> None:
    pem = break_key(PUBLIC)
    indented = pem.strip().replace("\n", "\n  ")
    text = MINIMAL.replace(PUBLIC.strip().replace("\n", "\n  "), indented)

    (fault,) = faults(text)
    assert fault == f"bank_public_key cannot be used: {said}"
    assert "AAAA" not in fault


def test_a_missing_key_or_ca_file_is_reported_with_the_resolved_path(tmp_path: Path) -> None:
    text = MINIMAL + "hub: {private_key: keys/none.pem}\nca_file: ../ca.pem"
    with pytest.raises(InvalidBankFile) as found:
        bank_file.parse(text, tmp_path / "banks")

    assert found.value.faults == (
        f"hub.private_key names a file that cannot be read: No such file or directory: {tmp_path}/banks/keys/none.pem",
        f"ca_file names a file that does not exist: {tmp_path}/ca.pem",
    )


def test_key_material_without_a_pem_header_is_not_quoted(tmp_path: Path) -> None:
    (fault,) = faults(MINIMAL + f"hub: {{private_key: '{'MIIE/vQIB' * 180}'}}")

    assert fault.startswith("hub.private_key names a file that cannot be read: ")
    assert "MIIE" not in fault


def test_a_missing_or_binary_bank_file_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(InvalidBankFile, match="cannot be read: No such file"):
        bank_file.read(tmp_path / "none.yaml")
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidBankFile, match="not UTF-8"):
        bank_file.read(tmp_path / "bytes.yaml")


def test_accounts_of_version_1_need_no_account_id() -> None:
    text = changed("version: 2", "version: 1").replace('account_id: "1"\n      ', "")

    assert bank_file.parse(text, Path()).accounts[0].account_id is None


def test_errors_of_a_bank_file_never_quote_the_api_key() -> None:
    text = changed("a-key-of-the-bank", '" secret-of-the-bank"')

    assert "secret-of-the-bank" not in str(faults(text))


def test_the_conformance_hub_key_is_created_once_with_mode_0600(tmp_path: Path) -> None:
    from infra.conformance import kit

    bank = bank_file.parse(MINIMAL, Path())
    first = kit.load_key(bank, tmp_path / "out")
    again = kit.load_key(bank, tmp_path / "out")

    assert first.private_numbers() == again.private_numbers()
    assert stat.S_IMODE((tmp_path / "out" / kit.KEY_FILE).stat().st_mode) == 0o600
