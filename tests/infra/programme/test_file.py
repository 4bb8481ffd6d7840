"""Programme files: the resulting configuration, and errors with their locations."""

from decimal import Decimal
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from chalicelib.cards.actions import ACTIONS
from chalicelib.cards.programs.catalogue import Rate
from chalicelib.cards.protocol.embossing import BUREAU_CHARACTERS
from chalicelib.foundation.crypto import signatures
from infra.programme import file
from infra.programme.file import InvalidProgramme
from tests.cards.programmes import PLAIN, Content, card_programme, credential, manager, written

SECRET = "what-nobody-is-shown"
DEMO = file.DEMO.read_text(encoding="utf-8")


def faults(text: str, stage: Any = "local") -> tuple[str, ...]:
    with pytest.raises(InvalidProgramme) as caught:
        file.read_programmes(text, stage)
    assert str(caught.value) == "; ".join(caught.value.faults)
    assert SECRET not in str(caught.value)
    return caught.value.faults


def of_small(**members: Any) -> tuple[str, ...]:
    return faults(written(manager(**members)))


def of_programme(**members: Any) -> tuple[str, ...]:
    return of_small(card_programmes=[card_programme(**members)])


def of_credential(**members: Any) -> tuple[str, ...]:
    return of_small(credentials=[credential("app", **members)])


# -- the card bureau


def test_a_programme_can_set_the_bureau_characters() -> None:
    greek = card_programme(bureau_characters="ΑΒΓ 123")
    [loaded] = file.read_programmes(written(manager(card_programmes=[greek])), "local")
    [usual] = file.read_programmes(written(manager()), "local")

    assert loaded.catalogue.card_programmes[1].bureau_characters == "ΑΒΓ 123"
    assert usual.catalogue.card_programmes[1].bureau_characters == BUREAU_CHARACTERS


@pytest.mark.parametrize("characters", ["", "ABC^", "ABC/", "ABC%", "ABC?", "ABC\n", "A" * 501])
def test_bureau_characters_with_track_separators_are_refused(characters: str) -> None:
    [fault] = of_programme(bureau_characters=characters)
    assert "bureau_characters" in fault


# -- the demonstration's file


def test_the_demo_programme_has_programmes_of_several_kinds() -> None:
    demo, other = file.read_programmes(DEMO, "local")
    programmes = demo.catalogue.card_programmes.values()

    assert demo.catalogue.manager_id == 1
    assert demo.catalogue.name == "Demo Programme"
    assert other.catalogue.manager_id == 2
    assert demo.catalogue.currencies == (978, 826, 840)
    assert (
        {each.auto_conversion for each in programmes} == {each.country_change for each in programmes} == {True, False}
    )
    assert {(each.virtual, each.physical) for each in programmes} == {(True, True), (True, False)}
    assert demo.catalogue.rates[826, 978] == Rate(Decimal("1.1596"), Decimal(0))
    assert demo.catalogue.rates[978, 840] == Rate(Decimal("1.0845"), Decimal("1.5"))
    assert {each.conversion_fee_blended for each in demo.catalogue.account_programmes.values()} == {True, False}
    assert {len(demo.catalogue.of(kind)) > 1 for kind, _ in demo.catalogue.entries()} == {True}


def test_the_demo_programme_has_credentials_of_several_kinds() -> None:
    demo, other = file.read_programmes(DEMO, "local")
    full, support, encrypted = (demo.rights[name] for name in ("full", "support", "encrypted"))

    assert full.access_level == 1000
    assert full.actions is None
    assert full.modes == PLAIN
    assert support.access_level < 1000
    assert support.actions is not None
    assert {ACTIONS[name].effect for name in support.actions} <= {"read", "reveal"}
    assert {**support.modes, "pan": "masked"} == {**dict.fromkeys(PLAIN, "absent"), "pan": "masked"}
    assert set(encrypted.modes.values()) == {"encrypted"}
    assert encrypted.encryption_key is not None
    assert signatures.load_public_key(encrypted.encryption_key).key_size == 3072
    assert list(other.rights) == ["other"]


def test_the_demo_programme_contains_no_secrets() -> None:
    assert "PRIVATE" not in DEMO
    assert "access_api" not in DEMO


# -- YAML


def test_a_duplicate_member_of_a_programme_file_is_rejected() -> None:
    assert faults("programme_managers: []\nprogramme_managers: []") == ("line 2, column 1: a member occurs twice",)


@pytest.mark.parametrize("text", ["", "just text", "- 1", "1"])
def test_a_programme_file_without_members_is_rejected(text: str) -> None:
    assert faults(text) == ("the file must have members",)


# -- form


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("other: 1", ("programme_managers is missing", "other is unknown")),
        ("programme_managers: []", ("programme_managers must not be empty",)),
        ("programme_managers: 1", ("programme_managers must be a list",)),
    ],
)
def test_an_error_of_a_programme_file_is_reported_with_the_location(text: str, said: tuple[str, ...]) -> None:
    assert faults(text) == said


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({"bin": 222300}, "bin must be text: put it in quotes"),
        ({"bin": "22230"}, "bin must match pattern '^[0-9]{6,8}$'"),
        ({"bin": "222300123"}, "bin must match pattern '^[0-9]{6,8}$'"),
        ({"pan_length": 15}, "pan_length must be greater than or equal to 16"),
        ({"pan_length": 20}, "pan_length must be less than or equal to 19"),
        ({"virtual": "yes"}, "virtual must be true or false"),
        ({"virtual": 1}, "virtual must be true or false"),
        ({"id": "1"}, "id must be a whole number"),
        ({"id": 0}, "id must be greater than or equal to 1"),
        ({"currencies": []}, "currencies must not be empty"),
        ({"currencies": [978, 978]}, "currencies must not contain duplicates"),
        ({"currencies": [1]}, "currencies.0 must be the numeric ISO 4217 code of a currency with minor units"),
        ({"countries": [999]}, "countries.0 must be a numeric ISO 3166-1 code"),
        ({"validity_months": 301}, "validity_months must be less than or equal to 300"),
        ({"service_code": "20"}, "service_code must match pattern '^[0-9]{3}$'"),
        ({"access_level": 1001}, "access_level must be less than or equal to 1000"),
        ({"design_ids": []}, "design_ids must not be empty"),
        ({"name": ""}, "name must have at least 1 character"),
        ({"name": "a\tb"}, "name must be printable text without leading or trailing spaces"),
        ({"name": "\u2800"}, "name must be printable text without leading or trailing spaces"),
        ({"name": " a"}, "name must be printable text without leading or trailing spaces"),
        ({"pin_key": SECRET}, "pin_key is unknown"),
    ],
)
def test_an_invalid_card_programme_is_refused(members: Content, said: str) -> None:
    assert of_programme(**members) == (f"programme_managers.0.card_programmes.0.{said}",)


def test_the_type_of_a_limit_group_is_card_account_or_holder() -> None:
    groups = [*manager()["limit_groups"], {"id": 4, "name": "Else", "limit_type": 4}]

    assert of_small(limit_groups=groups) == ("programme_managers.0.limit_groups.3.limit_type must be 1, 2 or 3",)


@pytest.mark.parametrize("member", ["access_key", "access_api_id", "access_api_key", "secret", "private_key"])
def test_a_secret_in_a_programme_file_is_refused(member: str) -> None:
    assert of_credential(**{member: SECRET}) == (f"programme_managers.0.credentials.0.{member} is unknown",)


# -- what has to fit together


@pytest.mark.parametrize(
    ("members", "said"),
    [
        *(
            ({member: [1, 99]}, f"{member} refers to the {kind} 99, which is not in the file")
            for member, kind in (
                ("product_ids", "product"),
                ("design_ids", "design"),
                ("fee_group_ids", "fee group"),
                ("limit_group_ids", "limit group"),
                ("usage_group_ids", "usage group"),
                ("risk_group_ids", "risk group"),
                ("shipping_method_ids", "shipping method"),
            )
        ),
        ({"account_program_id": 9}, "account_program_id refers to the account programme 9, which is not in the file"),
        ({"holder_limit_group_id": 9}, "holder_limit_group_id refers to the limit group 9, which is not in the file"),
        ({"limit_group_ids": [2]}, "limit_group_ids refers to the limit group 2, whose limit_type is not 1"),
        (
            {"account_limit_group_ids": [2, 3]},
            "account_limit_group_ids refers to the limit group 3, whose limit_type is not 2",
        ),
        ({"holder_limit_group_id": 1}, "holder_limit_group_id refers to the limit group 1, whose limit_type is not 3"),
        ({"account_limit_group_ids": []}, "account_limit_group_id must be one of account_limit_group_ids"),
        ({"currencies": [840]}, "currencies contains 840, which is not a currency of the programme manager"),
        ({"currencies": [978, 826]}, "currencies contains 826, which is not a currency of its account programme"),
        ({"bin": "222301"}, "bin does not start with one of test_bins: other BINs are allowed only in production"),
        ({"virtual": False, "physical": False}, "physical must be true if virtual is false"),
        ({"shipping_method_ids": []}, "shipping_method_ids must not be empty if physical is true"),
        ({"validity_months": 61}, "validity_months must not be more than max_validity_months"),
    ],
)
def test_a_card_programme_with_missing_or_conflicting_references_is_refused(members: Content, said: str) -> None:
    assert f"programme_managers.0.card_programmes.0.{said}" in of_programme(**members)


def test_a_bin_outside_the_test_ranges_is_accepted_only_in_production() -> None:
    text = written(manager(test_bins=[], card_programmes=[card_programme(bin="41111111")]))

    assert file.read_programmes(text, "prod")
    assert all(faults(text, stage) for stage in ("local", "dev"))


def test_a_longer_bin_within_a_test_range_is_accepted() -> None:
    assert file.read_programmes(written(manager(card_programmes=[card_programme(bin="22230012")])), "dev")


def test_two_entries_of_one_kind_with_the_same_id_are_refused() -> None:
    designs = [{"id": 1, "name": "Blue"}, {"id": 2, "name": "Green"}, {"id": 1, "name": "Red"}]

    assert of_small(designs=designs) == ("programme_managers.0.designs.2.id occurs twice",)
    one = manager()
    assert faults(written(one, one)) == ("programme_managers.1.id occurs twice",)
    assert of_small(credentials=[credential("app"), credential("app")]) == (
        "programme_managers.0.credentials.1.name occurs twice",
    )


@pytest.mark.parametrize(
    ("rates", "said"),
    [
        ([{"of": 978, "to": 978, "rate": "1"}], "0.to must be a currency of the programme manager"),
        ([{"of": 978, "to": 840, "rate": "1"}], "0.to must be a currency of the programme manager"),
        ([{"of": 978, "to": 826, "rate": "0.0"}], "0.rate must be more than 0"),
        ([{"of": 978, "to": 826, "rate": "-1"}], "0.rate must match pattern"),
        ([{"of": 978, "to": 826, "rate": "1"}] * 2, "1 occurs twice"),
        (
            [{"of": 978, "to": 826, "rate": "1", "markup_percent": "50.000001"}],
            "0.markup_percent must not be more than",
        ),
        ([{"of": 978, "to": 826, "rate": "1", "markup_percent": "1.0000001"}], "0.markup_percent must match pattern"),
        ([{"of": 978, "to": 826, "rate": "1", "markup_percent": "-1"}], "0.markup_percent must match pattern"),
        ([{"of": 978, "to": 826, "rate": "1", "markup_percent": 1}], "0.markup_percent must be text: put it in quotes"),
    ],
)
def test_an_invalid_exchange_rate_is_refused(rates: list[Content], said: str) -> None:
    (found,) = of_small(exchange_rates=rates)
    assert found.startswith(f"programme_managers.0.exchange_rates.{said}")


def test_an_exchange_rate_with_or_without_quotes_is_read_without_loss_of_digits() -> None:
    for spelled in ("0.861200000", "'0.861200000'"):
        text = written(manager()).replace("'0.86'", spelled)
        assert str(file.read_programmes(text, "local")[0].catalogue.rates[978, 826].base) == "0.861200000"


# -- credentials


def public_key(bits: int) -> str:
    return signatures.public_pem(rsa.generate_private_key(65537, bits).public_key())


def test_the_delivery_mode_plain_requires_the_member_allow_plain() -> None:
    modes = {**dict.fromkeys(PLAIN, "absent"), "pan": "plain"}

    assert of_credential(modes=modes) == (
        "programme_managers.0.credentials.0.modes.pan must not be plain unless allow_plain is true",
    )
    assert file.read_programmes(
        written(manager(credentials=[credential("app", modes=modes, allow_plain=True)])), "local"
    )


def test_the_delivery_mode_encrypted_requires_a_public_rsa_key_of_3072_bits() -> None:
    modes = {**dict.fromkeys(PLAIN, "absent"), "pin": "encrypted"}
    place = "programme_managers.0.credentials.0.encryption_key"

    assert of_credential(modes=modes) == (f"{place} is required if a mode is encrypted",)
    (short,) = of_credential(modes=modes, encryption_key=public_key(2048))
    assert short.startswith(f"{place} cannot be used: the public key has 2048 bits")
    (private,) = of_credential(modes=modes, encryption_key=signatures.generate_private_pem())
    assert private == f"{place} cannot be used: this is not a PEM public key"
    given = credential("app", modes=modes, encryption_key=f"\n{public_key(3072)}\n\n")
    key = file.read_programmes(written(manager(credentials=[given])), "local")[0].rights["app"].encryption_key
    assert key is not None
    assert key == key.strip() + "\n", "it is kept in one form"


# -- the values of 3-D Secure


DELIVERS = {"delivers_validation_values": True, "events_url": "http://127.0.0.1:9700/events"}
ELLIPTIC = ec.generate_private_key(ec.SECP256R1()).public_key()


@pytest.mark.parametrize(
    ("key", "said"),
    [
        (public_key(2048), "the public key has 2048 bits; at least 3072 are required"),
        (SECRET, "this is not a PEM public key"),
        ("", "this is not a PEM public key"),
        (signatures.generate_private_pem(), "this is not a PEM public key"),
        (ELLIPTIC.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode(), "must be an RSA key"),
    ],
    ids=["short", "text", "empty", "private", "elliptic"],
)
@pytest.mark.parametrize("delivers", [True, False])
def test_an_invalid_events_encryption_key_is_refused(key: str, said: str, delivers: bool) -> None:
    (found,) = of_small(**DELIVERS | {"delivers_validation_values": delivers}, events_encryption_key=key)

    assert found.startswith("programme_managers.0.events_encryption_key cannot be used: ")
    assert found.endswith(said)


def test_delivering_validation_values_requires_an_events_key_and_an_events_url() -> None:
    because = "is required if delivers_validation_values is true"

    assert of_small(**DELIVERS) == (f"programme_managers.0.events_encryption_key {because}",)
    assert of_small(delivers_validation_values=True, events_encryption_key=public_key(3072)) == (
        f"programme_managers.0.events_url {because}",
    )
    assert of_small(**DELIVERS | {"delivers_validation_values": "yes"}) == (
        "programme_managers.0.delivers_validation_values must be true or false",
    )


def test_the_events_encryption_key_is_normalised_and_delivery_is_off_by_default() -> None:
    key = public_key(3072)

    found = file.read_programmes(written(manager(**DELIVERS, events_encryption_key=f"\n{key}\n\n")), "local")[
        0
    ].catalogue
    silent = file.read_programmes(written(manager()), "local")[0].catalogue

    assert (found.events_encryption_key, found.delivers_validation_values) == (key, True)
    assert (silent.events_encryption_key, silent.delivers_validation_values) == (None, False)


# -- modes


@pytest.mark.parametrize("field", ["pin", "cvc2", "acs_password", "expiry"])
def test_only_a_pan_can_be_masked(field: str) -> None:
    (said,) = of_credential(modes={**dict.fromkeys(PLAIN, "absent"), field: "masked"})

    assert said == f"programme_managers.0.credentials.0.modes.{field} must be 'plain', 'encrypted' or 'absent'"


def test_a_missing_mode_of_a_field_is_refused() -> None:
    assert of_credential(modes={"pan": "absent"}) == tuple(
        f"programme_managers.0.credentials.0.modes.{field} is missing" for field in PLAIN if field != "pan"
    )


def test_an_unknown_action_is_refused() -> None:
    place = "programme_managers.0.credentials.0.actions"

    assert of_credential(actions=["getHolder", SECRET, "all"]) == (
        f"{place}.1 is not an action",
        f"{place}.2 is not an action",
    )
    assert of_credential(actions=[]) == (f"{place} must not be empty",)
    rights = file.read_programmes(
        written(manager(credentials=[credential("app", actions=["getHolder", "simulateAuthentication"])])), "local"
    )
    assert rights[0].rights["app"].actions == frozenset({"getHolder", "simulateAuthentication"})


def test_an_invalid_credential_name_is_refused() -> None:
    for name in ("App", "a" * 41, "", "a b", "1a", "a.b"):
        assert of_small(credentials=[credential(name)])[0].startswith(
            "programme_managers.0.credentials.0.name must match"
        )
