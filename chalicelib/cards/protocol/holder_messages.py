"""Messages of the four holder actions (specification, Holder operations), and the holder block."""

from typing import ClassVar

from chalicelib.cards.protocol.fields import (
    ANS,
    AS,
    CountryIson,
    Day,
    Email,
    HolderType,
    HolderTypeWord,
    Id,
    Ipv4,
    Level,
    N,
    Phone,
)
from chalicelib.cards.protocol.message import (
    Answer,
    Condition,
    Ignores,
    Needs,
    NeedsOne,
    Request,
    if_absent,
    if_equal,
    if_given,
)

HOLDER_CONDITIONS: tuple[Condition, ...] = (
    Needs(
        (
            "holder_first_name",
            "holder_last_name",
            "holder_address_line_1",
            "holder_country_ison",
            "holder_zipcode",
            "holder_city",
            "holder_phone_number",
        ),
        (if_absent("holder_id"),),
    ),
    Needs(("holder_business_name",), (if_absent("holder_id"), if_equal("holder_type", 1))),
)


class WithHolder(Request):
    """The holder block: the id of an existing holder, or the fields of a new holder."""

    holder_id: Id | None = None
    """The id of an existing holder. If the field is absent, the holder block describes a new holder. No example."""
    holder_title: ANS[1, 7] | None = None
    """The holder's title. Example: ``"Ms"``."""
    holder_type: HolderType | None = None
    """The type of holder, by default personal. Example: ``"0"``."""
    holder_access_level: Level | None = None
    """The new holder's access level, by default the programme's access level."""
    holder_business_name: ANS[1, 50] | None = None
    """The business's name."""
    holder_first_name: AS[1, 50] | None = None
    """The first name. Example: ``"Ada"``."""
    holder_last_name: AS[1, 50] | None = None
    """The last name. Example: ``"Okafor"``."""
    holder_address_line_1: ANS[1, 100] | None = None
    """The first line of the address. Example: ``"Lindenallee 12"``."""
    holder_address_line_2: ANS[1, 100] | None = None
    """A further line of the address."""
    holder_address_line_3: ANS[1, 100] | None = None
    """A further line of the address."""
    holder_address_line_4: ANS[1, 100] | None = None
    """A further line of the address."""
    holder_country_ison: CountryIson | None = None
    """The country as a numeric ISO 3166-1 code. Example: ``276``."""
    holder_zipcode: ANS[1, 9] | None = None
    """The postal code. Example: ``"10115"``."""
    holder_city: ANS[1, 50] | None = None
    """The town. Example: ``"Berlin"``."""
    holder_state: ANS[1, 50] | None = None
    """The state or county."""
    holder_phone_number: Phone | None = None
    """The telephone number, which contains only digits. Example: ``"4930901820"``."""
    holder_email: Email | None = None
    """The email address. Example: ``"ada.okafor@example.com"``."""
    holder_date_of_birth: Day | None = None
    """The date of birth. Example: ``"1990-04-17"``."""
    holder_ip_address: Ipv4 | None = None
    """The IP address from which the holder registered."""
    holder_limit_group_id: Id | None = None
    """The holder's limit group. Example: ``221``."""
    holder_industry_id: N[1, 4] | None = None
    """The business's industry."""
    holder_date_of_company_incorporation: Day | None = None
    """The date of incorporation."""
    holder_locale: AS[1, 15] | None = None
    """The holder's language. Example: ``"de-DE"``."""
    kyc_completion_level: N[1] | None = None
    """The level of identity verification. Example: ``2``."""
    kyc_document_expiration_date: Day | None = None
    """The expiry date of the identity document. Example: ``"2031-06-30"``."""


HOLDER_BLOCK = tuple(name for name in WithHolder.model_fields if name not in ("access_level", "holder_id"))
"""The fields of a new holder in createAccount and createCard, which are ignored if ``holder_id`` is present."""
HOLDER_IGNORED = (Ignores(frozenset(HOLDER_BLOCK), if_given("holder_id")),)


class HolderFields(Request):
    """The fields that createHolder and updateHolder have in common."""

    business_name: ANS[1, 50] | None = None
    """The business's name."""
    title: ANS[1, 7] | None = None
    """The holder's title. Example: ``"Ms"``."""
    first_name: AS[1, 50]
    """The first name. Example: ``"Ada"``."""
    last_name: AS[1, 50]
    """The last name. Example: ``"Okafor"``."""
    address_line_1: ANS[1, 100]
    """The first line of the address. Example: ``"Lindenallee 12"``."""
    address_line_2: ANS[1, 100] | None = None
    """A further line of the address. Example: ``"Hinterhaus"``."""
    address_line_3: ANS[1, 100] | None = None
    """A further line of the address."""
    address_line_4: ANS[1, 100] | None = None
    """A further line of the address."""
    zip_code: ANS[1, 9]
    """The postal code. Example: ``"10115"``."""
    city: ANS[1, 50]
    """The town. Example: ``"Berlin"``."""
    state: ANS[1, 50] | None = None
    """The state or county. Example: ``"Berlin"``."""
    phone_number: Phone
    """The telephone number, which contains only digits. Example: ``"4930901820"``."""
    country_ison: CountryIson | None = None
    """The country as a numeric ISO 3166-1 code. Example: ``276``."""
    holder_limit_group_id: Id
    email: Email | None = None
    """The email address. Example: ``"ada.okafor@example.com"``."""
    date_of_birth: Day | None = None
    """The date of birth. Example: ``"1990-04-17"``."""
    industry_id: N[1, 4] | None = None
    """The business's industry."""
    date_of_company_incorporation: Day | None = None
    """The date of incorporation."""
    kyc_completion_level: N[1] | None = None
    kyc_document_expiration_date: Day | None = None
    additional_charset_id: N[1, 10] | None = None
    """The additional characters allowed in names. The value is stored but not used."""
    holder_locale: AS[1, 15] | None = None


class CreateHolder(HolderFields):
    """createHolder: register a holder."""

    conditions: ClassVar = (Needs(("business_name",), (if_equal("holder_type", 1),)),)

    holder_type: HolderType | None = None
    ip_address: Ipv4 | None = None
    """The IP address from which the holder registered. Example: ``"203.0.113.7"``."""


class UpdateHolder(HolderFields):
    """updateHolder: replace the mandatory fields. An absent optional field is unchanged, and ``null`` clears an
    optional field.
    """

    emptied: ClassVar = frozenset(
        name for name, field in HolderFields.model_fields.items() if not field.is_required()
    ) - {"access_level", "business_name"}

    holder_id: Id
    """The holder's id. Example: ``100000017``."""

    """Inherited ``country_ison``: The country; ignored if the programme forbids changing it."""


class GetHolder(Request):
    """getHolder: get a holder by holder id, by card id, or by both."""

    conditions: ClassVar = (NeedsOne(("holder_id", "card_id")),)

    holder_id: Id | None = None
    """The holder's id. Example: ``100000017``."""
    card_id: Id | None = None
    """The id of one of the holder's cards."""


class GetHolderAccounts(Request):
    """getHolderAccounts: list a holder's accounts that are visible at the caller's access level."""

    holder_id: Id
    """The holder's id. Example: ``100000017``."""


class HolderRecord(Answer):
    """A holder. An ``email`` or ``ip_address`` stored before validation was introduced may be malformed."""

    id: Id
    """The holder's id. Example: ``100000017``."""
    title: ANS[1, 7] | None
    """The holder's title."""
    holder_type: HolderTypeWord
    """The type of holder."""
    access_level: Level
    """The minimum access level required to see the holder. Example: ``0``."""
    business_name: ANS[1, 50] | None
    """The business's name."""
    first_name: AS[1, 50]
    """The first name."""
    last_name: AS[1, 50]
    """The last name."""
    address_line_1: ANS[1, 100]
    """The first line of the address."""
    address_line_2: ANS[1, 100] | None
    """A further line of the address."""
    address_line_3: ANS[1, 100] | None
    """A further line of the address."""
    address_line_4: ANS[1, 100] | None
    """A further line of the address."""
    country_ison: CountryIson | None
    """The country as a numeric ISO 3166-1 code."""
    zip_code: ANS[1, 9]
    """The postal code."""
    city: ANS[1, 50]
    """The town."""
    state: ANS[1, 50] | None
    """The state or county."""
    phone_number: Phone
    """The telephone number, which contains only digits."""
    email: ANS[6, 100] | None
    """The email address."""
    date_of_birth: Day | None
    """The date of birth."""
    ip_address: ANS[7, 15] | None
    """The IP address from which the holder registered."""
    industry_id: N[1, 4] | None
    """The business's industry."""
    date_of_company_incorporation: Day | None
    """The date of incorporation."""
    kyc_completion_level: N[1] | None
    """The level of identity verification."""
    kyc_document_expiration_date: Day | None
    """The expiry date of the identity document."""
    additional_charset_id: N[1, 10] | None
    """The additional characters allowed in names. The value is stored but not used."""
    holder_limit_group_id: Id | None
    """The holder's limit group."""
    holder_locale: AS[1, 15] | None
    """The holder's language."""
