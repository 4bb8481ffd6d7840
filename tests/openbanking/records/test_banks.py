"""Tests of the table of banks: concurrent changes, and the time until other processes use a change."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from chalicelib.foundation.crypto import signatures
from chalicelib.foundation.identifiers import OpaqueToken
from chalicelib.openbanking.flows.bank.directory import is_named
from chalicelib.openbanking.protocol.oauth_security import AUTHORIZATION_PARAMETERS
from chalicelib.openbanking.records.authorization_requests import NewAuthorizationRequest
from chalicelib.openbanking.records.bank_record import SWITCHES, Bank, InvalidBank, NewBank, validate_bank
from chalicelib.openbanking.records.banks import CACHED_SECONDS, BankExists, Banks, UnknownBank, bank_key
from tests.causeway import Causeway
from tests.kit import inputs
from tests.kit.storage import record_calls

BIC = "GAMMFRPP"


@cache
def pem(number: int) -> str:
    return signatures.public_pem(signatures.load_private_key(signatures.generate_private_pem()).public_key())


def new(bic: str = BIC) -> NewBank:
    return NewBank(
        bic=bic,
        name="Gamma",
        country="FR",
        api_version=2,
        domain="http://127.0.0.1:1/gamma",
        authorization_url="http://127.0.0.1:1/gamma/authorize",
        public_keys=[pem(0)],
    )


@pytest.fixture(params=[BIC, f"{BIC}XXX"])
def bic(request: pytest.FixtureRequest) -> str:
    bic: str = request.param
    return bic


@pytest.fixture
def first_key(causeway: Causeway, bic: str) -> Iterator[str]:
    yield causeway.hub.openbanking.banks.add(new(bic))[1]
    if any(bank.bic == bic for bank in causeway.hub.openbanking.banks.all()):
        causeway.hub.openbanking.banks.remove(bic)


pytestmark = pytest.mark.usefixtures("first_key")


def test_a_bank_stored_without_a_read_limit_has_no_limit(causeway: Causeway, bic: str) -> None:
    item = causeway.hub.store.get("banks", {"bic": bic})
    assert item is not None
    assert "unattended_reads" not in item

    assert Bank.from_item(item).unattended_reads is None


def test_the_limit_of_unattended_reads_can_be_set_changed_and_removed(causeway: Causeway, bic: str) -> None:
    banks = causeway.hub.openbanking.banks
    assert banks.change(bic, unattended_reads=4).unattended_reads == 4
    assert banks.change(bic, name="Delta").unattended_reads == 4
    assert banks.change(bic, unattended_reads=1).unattended_reads == 1

    assert banks.change(bic, unattended_reads=0).unattended_reads is None
    assert "unattended_reads" not in (causeway.hub.store.get("banks", {"bic": bic}) or {})


def test_a_bank_stored_without_switches_has_their_defaults(causeway: Causeway, bic: str) -> None:
    item = causeway.hub.store.get("banks", {"bic": bic}) or {}

    bank = Bank.from_item({name: value for name, value in item.items() if name not in SWITCHES})

    assert [getattr(bank, name) for name in SWITCHES] == [False, "booked", None, False]
    assert bank == Bank.from_item(item)


def test_the_credit_limit_switch_can_be_set_changed_and_removed(causeway: Causeway, bic: str) -> None:
    banks = causeway.hub.openbanking.banks
    assert banks.change(bic, credit_limit_included=True).credit_limit_included is True
    assert banks.change(bic, name="Delta").credit_limit_included is True
    assert banks.change(bic, credit_limit_included=False).credit_limit_included is False

    assert banks.change(bic, credit_limit_included=None).credit_limit_included is None


@pytest.mark.parametrize("limit", [-1, 1001])
def test_a_read_limit_out_of_range_is_refused(causeway: Causeway, bic: str, limit: int) -> None:
    with pytest.raises(InvalidBank, match="unattended_reads must be from 1 to 1000"):
        causeway.hub.openbanking.banks.change(bic, unattended_reads=limit)


@pytest.fixture
def banks(causeway: Causeway) -> Banks:
    return causeway.hub.openbanking.banks


@pytest.fixture
def other(causeway: Causeway) -> Banks:
    """The table of banks as another process uses the table: a command line or another instance of the service."""
    return causeway.another_process().openbanking.banks


def accepts(banks: Banks, bic: str, key: str) -> bool:
    credential, bank = OpaqueToken.parse(key, parts=1), banks.find(bic)
    assert credential is not None
    assert bank is not None
    return bank.accepts_key(credential)


def shown(banks: Banks, bic: str) -> str:
    bank = banks.find(bic)
    assert bank is not None
    return banks.outbound_key(bank)


# -- two operators

CHANGES: dict[str, Callable[[Banks, str], object]] = {
    "a name": lambda banks, bic: banks.change(bic, name="Changed"),
    "an API key": lambda banks, bic: banks.rotate_api_key(bic),
    "a public key": lambda banks, bic: banks.add_public_key(bic, pem(1)),
    "another member": lambda banks, bic: banks.change(bic, active=False),
}


@pytest.mark.parametrize("second", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("first", CHANGES.values(), ids=CHANGES)
def test_the_second_of_two_concurrent_bank_changes_is_rejected_and_the_first_is_stored(
    causeway: Causeway,
    banks: Banks,
    other: Banks,
    bic: str,
    first: Callable[[Banks, str], object],
    second: Callable[[Banks, str], object],
) -> None:
    done: list[Bank] = []

    def intrude() -> None:
        first(other, bic)
        done.append(other.get(bic))

    with causeway.meanwhile("transact", intrude), pytest.raises(InvalidBank, match="the bank was changed concurrently"):
        second(banks, bic)

    assert banks.get(bic) == done[0]
    if first is second is CHANGES["a public key"]:
        return  # there is no room for a third
    second(banks, bic)
    assert banks.get(bic).revision == done[0].revision + 1


def test_a_change_during_a_removal_does_not_restore_the_bank(
    causeway: Causeway, banks: Banks, other: Banks, bic: str
) -> None:
    with causeway.meanwhile("transact", lambda: other.remove(bic)), pytest.raises(UnknownBank):
        banks.change(bic, name="Changed")

    with pytest.raises(UnknownBank):
        banks.get(bic)


@pytest.mark.parametrize("again", [BIC, f"{BIC}XXX", f"{BIC}xxx".lower()])
def test_registering_a_bank_with_both_its_short_and_long_bic_is_refused(
    causeway: Causeway, banks: Banks, bic: str, again: str
) -> None:
    before = causeway.hub.store.get(*bank_key(bic))

    with pytest.raises(BankExists, match=f"^{again.upper()} is already registered"):
        banks.add(new(again))

    assert causeway.hub.store.get(*bank_key(bic)) == before
    assert [bank.bic for bank in banks.all() if bank.bic.startswith(BIC)] == [bic]


def test_the_second_of_two_concurrent_registrations_with_short_and_long_bic_is_refused(
    causeway: Causeway, banks: Banks, other: Banks
) -> None:
    first, second = "HYPEGB2L", "HYPEGB2LXXX"
    try:
        with causeway.meanwhile("transact", lambda: other.add(new(first))), pytest.raises(BankExists):
            banks.add(new(second))
        assert [bank.bic for bank in banks.all() if bank.bic.startswith(first)] == [first]
    finally:
        banks.remove(first)


def test_a_branch_can_be_registered_in_addition_to_its_head_office(banks: Banks, bic: str) -> None:
    branch = f"{BIC}123"
    banks.add(new(branch))
    try:
        assert banks.get(branch).bic == branch
        assert banks.get(bic).bic == bic
    finally:
        banks.remove(branch)


@pytest.mark.parametrize("named", [BIC, f"{BIC}XXX", f"{BIC}xxx".lower()])
def test_operator_commands_accept_the_short_and_the_long_bic(banks: Banks, bic: str, named: str) -> None:
    assert banks.get(named).bic == bic
    assert banks.change(named, name="Changed").name == "Changed"
    banks.rotate_api_key(named)
    assert banks.add_public_key(named, pem(1)).bic == bic
    banks.remove(named)

    with pytest.raises(UnknownBank):
        banks.get(bic)


@pytest.mark.parametrize("text", [BIC, f"{BIC}XXX", f"{BIC}xxx".lower(), "mmfr", "gamma", ""])
def test_a_search_finds_a_bank_by_its_short_and_long_bic(banks: Banks, bic: str, text: str) -> None:
    assert is_named(banks.get(bic), text)


def test_a_bank_search_for_the_branch_code_xxx_does_not_return_every_head_office(banks: Banks) -> None:
    assert not is_named(banks.get("ALPHGB21"), "xxx")


def test_changing_one_bank_field_does_not_change_other_fields(banks: Banks, bic: str) -> None:
    before = banks.get(bic)
    banks.change(bic, name="Changed", certificate_subject="CN=x")
    after = banks.change(bic, certificate_subject=None, name="Gamma")

    assert after.to_item() == before.to_item() | {"revision": before.revision + 2}


# -- keys


def test_a_new_api_key_takes_effect_immediately_in_the_process_that_created_the_key(
    banks: Banks, bic: str, first_key: str
) -> None:
    assert shown(banks, bic) == first_key

    key = banks.rotate_api_key(bic)

    assert shown(banks, bic) == key
    assert accepts(banks, bic, key)
    assert accepts(banks, bic, first_key)


def test_a_new_api_key_is_accepted_immediately_and_sent_after_the_overlap(
    causeway: Causeway, banks: Banks, bic: str, first_key: str
) -> None:
    key = banks.rotate_api_key(bic, overlap=300)

    causeway.clock.advance(299)
    assert accepts(banks, bic, key)
    assert shown(banks, bic) == first_key
    causeway.clock.advance(1)
    assert shown(banks, bic) == key
    assert accepts(banks, bic, first_key)


def test_the_old_api_key_is_accepted_until_the_next_rotation(
    causeway: Causeway, banks: Banks, bic: str, first_key: str
) -> None:
    second = banks.rotate_api_key(bic)
    causeway.clock.advance(30 * 24 * 3600)
    assert accepts(banks, bic, first_key)

    third = banks.rotate_api_key(bic)

    assert [accepts(banks, bic, key) for key in (first_key, second, third)] == [False, True, True]


def test_a_rotation_during_the_overlap_replaces_the_pending_key(
    causeway: Causeway, banks: Banks, bic: str, first_key: str
) -> None:
    waiting = banks.rotate_api_key(bic, overlap=300)
    newest = banks.rotate_api_key(bic, overlap=300)

    assert [accepts(banks, bic, key) for key in (first_key, waiting, newest)] == [True, False, True]
    assert shown(banks, bic) == first_key
    causeway.clock.advance(300)
    assert shown(banks, bic) == newest


def test_other_processes_send_the_new_api_key_within_a_minute(
    causeway: Causeway, banks: Banks, other: Banks, bic: str, first_key: str
) -> None:
    bank = banks.find(bic)
    assert bank is not None
    assert banks.outbound_key(bank) == first_key
    causeway.clock.advance(1)
    key = other.rotate_api_key(bic)

    causeway.clock.advance(CACHED_SECONDS - 2)
    assert banks.outbound_key(bank) == first_key
    causeway.clock.advance(1)
    assert banks.outbound_key(bank) == key  # also for who still holds the record that was read before
    assert accepts(banks, bic, key)


def test_a_decrypted_api_key_is_cached_for_the_same_time_as_its_bank(
    causeway: Causeway, banks: Banks, bic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    unseal = causeway.hub.vault.unseal

    def note(sealed: bytes, context: str) -> str:
        opened.append(context)
        return unseal(sealed, context)

    monkeypatch.setattr(causeway.hub.vault, "unseal", note)
    for _ in range(2):
        causeway.clock.advance(CACHED_SECONDS)
        assert shown(banks, bic) == shown(banks, bic)

    assert len(opened) == 2


@pytest.mark.parametrize("seconds", [CACHED_SECONDS, -3600])
def test_a_removed_public_key_is_refused_everywhere_after_a_minute(
    causeway: Causeway, banks: Banks, other: Banks, bic: str, seconds: int
) -> None:
    """The maximum age of the cache also applies after the clock is set back."""
    bank = banks.add_public_key(bic, pem(1))
    assert len(banks.verification_keys(bank)) == 2
    other.remove_public_key(bic, signatures.key_id(signatures.load_public_key(pem(0))))

    causeway.clock.advance(seconds)
    (left,) = banks.verification_keys(bank)
    assert signatures.key_id(left) == signatures.key_id(signatures.load_public_key(pem(1)))


@pytest.mark.parametrize("name", AUTHORIZATION_PARAMETERS)
def test_an_authorization_url_with_a_reserved_query_parameter_is_refused(banks: Banks, bic: str, name: str) -> None:
    before = banks.get(bic)

    with pytest.raises(InvalidBank, match=f"authorization_url must not have {name} in its query"):
        banks.change(bic, authorization_url=f"http://127.0.0.1:1/gamma/authorize?tenant=7&{name}=1")

    assert banks.get(bic) == before


def test_a_stored_authorization_url_with_a_reserved_parameter_is_still_accepted(
    causeway: Causeway, banks: Banks, bic: str
) -> None:
    url = "http://127.0.0.1:1/gamma/authorize?scope=all"
    causeway.hub.store.update("banks", {"bic": bic}, set={"authorization_url": url})

    assert banks.change(bic, name="Changed").authorization_url == url


def test_every_parameter_of_an_authorization_request_is_reserved() -> None:
    new = NewAuthorizationRequest("client", BIC, 2, ["accounts"], "https://tpp.example/", "reusable", "1", "challenge")

    assert set(new.query_parameters()) == set(AUTHORIZATION_PARAMETERS)


# -- finding


def test_a_bank_is_found_by_its_short_and_long_bic_with_one_read(causeway: Causeway, other: Banks, bic: str) -> None:
    for spelling in (BIC, f"{BIC}XXX"):
        causeway.clock.advance(CACHED_SECONDS)
        with record_calls(causeway) as calls:
            found = other.find(spelling)

        assert found is not None
        assert found.bic == bic
        assert calls == ["BatchGetItem"]
        with record_calls(causeway) as calls:
            assert other.find(spelling) == other.find(bic) == found
        assert calls == []


def test_a_branch_bic_does_not_find_the_head_office(banks: Banks) -> None:
    assert banks.find(f"{BIC}123") is None


def test_an_unknown_bank_is_not_cached(causeway: Causeway, other: Banks) -> None:
    assert other.find("NONEGB2L") is None

    try:
        causeway.hub.openbanking.banks.add(new("NONEGB2L"))
        assert other.find("NONEGB2L") is not None
    finally:
        causeway.hub.openbanking.banks.remove("NONEGB2L")


def test_an_inactive_bank_is_found_only_if_inactive_banks_are_included(banks: Banks, bic: str) -> None:
    banks.change(bic, active=False)

    assert banks.find(bic) is None
    assert banks.find(bic, active=False) is not None
    assert bic not in [row.bic for row in banks.directory()]


# -- addresses


@pytest.fixture
def elsewhere(causeway: Causeway) -> Banks:
    return causeway.another_process(replace(causeway.hub.settings, stage="dev")).openbanking.banks


@pytest.mark.parametrize("member", ["domain", "authorization_url"])
@pytest.mark.parametrize("host", inputs.REFUSED_HOSTS)
def test_a_bank_url_with_a_private_host_in_any_format_is_rejected(host: str, member: str) -> None:
    public = replace(new(), domain="https://bank.example.com", authorization_url="https://bank.example.com/authorize")
    members: dict[str, Any] = {member: f"https://{host}/bank"}

    assert validate_bank(public, local=False).bic == BIC
    with pytest.raises(InvalidBank, match=rf"{member} (must|is not a valid URL)"):
        validate_bank(replace(public, **members), local=False)


def test_a_bank_stored_with_an_invalid_url_accepts_changes_of_other_fields(
    banks: Banks, elsewhere: Banks, bic: str
) -> None:
    old = "https://bank.example.com./psd2"
    banks.change(bic, domain=old, authorization_url=old)

    assert not elsewhere.change(bic, active=False).active
    assert elsewhere.add_public_key(bic, pem(1)).domain == old
    with pytest.raises(InvalidBank, match="authorization_url must have a host"):
        elsewhere.change(bic, authorization_url=f"{old}/authorize")


@pytest.mark.parametrize("subject", ["api.bank.example", "CN", "CN=\ud800"])
def test_a_certificate_subject_must_be_a_distinguished_name(causeway: Causeway, bic: str, subject: str) -> None:
    with pytest.raises(InvalidBank, match=r"certificate_subject .* is not a distinguished name"):
        causeway.hub.openbanking.banks.change(bic, certificate_subject=subject)


def test_a_bank_stored_with_an_invalid_certificate_subject_accepts_other_changes(causeway: Causeway, bic: str) -> None:
    causeway.hub.store.update(*bank_key(bic), set={"certificate_subject": "as it was"})

    assert causeway.hub.openbanking.banks.change(bic, consent_days=90).certificate_subject == "as it was"
