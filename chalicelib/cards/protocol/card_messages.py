"""Messages of the card actions: create, reissue and change cards (specification, Card operations)."""

from collections.abc import Iterator
from typing import ClassVar

from chalicelib.cards.protocol import fields
from chalicelib.cards.protocol.card_records import LONGEST_BYTES
from chalicelib.cards.protocol.fields import (
    AN,
    ANS,
    AS,
    A,
    CountryIson,
    CurrencyIson,
    Digits,
    ExtList,
    Flag,
    Id,
    N,
    Range,
)
from chalicelib.cards.protocol.holder_messages import HOLDER_CONDITIONS, HOLDER_IGNORED, WithHolder
from chalicelib.cards.protocol.message import (
    Check,
    Excludes,
    Ignores,
    Late,
    Members,
    Needs,
    NeedsOne,
    Request,
    if_absent,
    if_equal,
    if_given,
)
from chalicelib.cards.protocol.values import LONGEST_VALIDITY
from chalicelib.foundation.fields.problems import Problem

DELIVERY_MANDATORY = (
    "delivery_first_name",
    "delivery_last_name",
    "delivery_address_line_1",
    "delivery_country_ison",
    "delivery_zipcode",
    "delivery_city",
    "order_shipping_method",
)
"""The mandatory fields of an order for a physical card."""

BULK_MANDATORY = ("bulk_address_line_1", "bulk_country_ison", "bulk_zipcode", "bulk_city")

BULK_CONDITION = Needs(BULK_MANDATORY, (if_given("order_delivery_code"),))


class WithDelivery(Request):
    """The delivery fields of a physical card, for individual or bulk delivery."""

    delivery_title: ANS[1, 7] | None = None
    """The recipient's title. Example: ``"Ms"``."""
    delivery_first_name: AS[1, 50] | None = None
    """The recipient's first name. Example: ``"Ada"``."""
    delivery_last_name: AS[1, 50] | None = None
    """The recipient's last name. Example: ``"Okafor"``."""
    delivery_address_line_1: ANS[1, 100] | None = None
    """The first line of the recipient's address. Example: ``"Lindenallee 12"``."""
    delivery_address_line_2: ANS[1, 100] | None = None
    """A further line of the address."""
    delivery_address_line_3: ANS[1, 100] | None = None
    """A further line of the address."""
    delivery_address_line_4: ANS[1, 100] | None = None
    """A further line of the address."""
    delivery_country_ison: CountryIson | None = None
    """The recipient's country. Example: ``276``."""
    delivery_zipcode: ANS[1, 9] | None = None
    """The recipient's postal code. Example: ``"10115"``."""
    delivery_city: ANS[1, 50] | None = None
    """The recipient's town. Example: ``"Berlin"``."""
    delivery_state: ANS[1, 50] | None = None
    """The recipient's state or county."""
    order_shipping_method: Id | None = None
    """The shipping method's id. Example: ``701``."""
    order_delivery_code: AN[1, 10] | None = None
    """The code that groups orders for bulk delivery."""
    order_fulfil_1: AN[1, 10] | None = None
    """A value agreed with the manufacturer."""
    order_fulfil_2: AN[1, 10] | None = None
    """A value agreed with the manufacturer."""
    order_language: A[1, 3] | None = None
    """The language of the card carrier. Example: ``"DEU"``."""
    bulk_address_line_1: ANS[1, 100] | None = None
    """The first line of the bulk delivery address."""
    bulk_address_line_2: ANS[1, 100] | None = None
    """A further line of the address."""
    bulk_address_line_3: ANS[1, 100] | None = None
    """A further line of the address."""
    bulk_address_line_4: ANS[1, 100] | None = None
    """A further line of the address."""
    bulk_country_ison: CountryIson | None = None
    """The country of the bulk delivery address."""
    bulk_zipcode: ANS[1, 9] | None = None
    """The postal code of the bulk delivery address."""
    bulk_city: ANS[1, 50] | None = None
    """The town of the bulk delivery address."""
    bulk_state: ANS[1, 50] | None = None
    """The state or county of the bulk delivery address."""


DELIVERY_BLOCK = tuple(name for name in WithDelivery.model_fields if name != "access_level")
"""The fields for individual and bulk delivery, which are ignored for virtual cards."""

TRACK_NAME = 26
"""The maximum combined length of both track data names."""


def check_track_names(values: Members) -> Iterator[Problem]:
    """``track_data_first_name`` and ``track_data_last_name`` must have at most 26 characters in total (2003)."""
    if sum(len(values.get(name) or "") for name in ("track_data_first_name", "track_data_last_name")) > TRACK_NAME:
        reason = f"and track_data_last_name must have at most {TRACK_NAME} characters together"
        yield Problem("track_data_first_name", "length", reason)


class WithEmbossing(WithDelivery):
    """Data printed on a card and encoded in it."""

    further: ClassVar[tuple[Check, ...]] = (check_track_names,)

    card_name_line_3: ANS[3, 26]
    track_data_first_name: ANS[1, 26] | None = None
    """The first name stored in the chip, if different from the embossed first name."""
    track_data_last_name: ANS[1, 26] | None = None
    """The last name stored in the chip, if different from the embossed last name."""


EMBOSSED = (
    *("card_name_line_3", "card_name_line_4", "track_data_first_name", "track_data_last_name"),
    *("card_thermal_line_1", "card_thermal_line_2"),
)
"""The fields for texts that are printed or encoded on a card. An action may have only some of these fields."""


def check_password_length(values: Members) -> Iterator[Problem]:
    """``acs_password`` must have at most 318 bytes in UTF-8 (2003)."""
    if len((values.get("acs_password") or "").encode()) > LONGEST_BYTES:
        yield Problem("acs_password", "length", f"must have at most {LONGEST_BYTES} bytes in UTF-8")


def check_owners(values: Members) -> Iterator[Problem]:
    """``account_owner_id`` and ``account_id`` must have the same number of entries (2003)."""
    accounts, owners = values.get("account_id"), values.get("account_owner_id")
    if accounts and owners and len(accounts) != len(owners):
        yield Problem("account_owner_id", "length", "must have as many entries as account_id")


_OF_PHYSICAL = frozenset((*DELIVERY_BLOCK, "card_pin"))
"""The fields that are ignored for virtual cards."""


class CreateCard(WithHolder, WithEmbossing):
    """createCard: create a virtual or physical card for a new or existing holder, with new or existing accounts."""

    conditions: ClassVar = (
        Excludes("card_currency_ison", "account_id"),
        Needs(("account_owner_id",), (if_given("account_id"),)),
        Needs(("account_id",), (if_given("account_owner_id"),)),
        *HOLDER_CONDITIONS,
        Needs(DELIVERY_MANDATORY, (if_equal("card_virtual", 0, default=1),)),
        BULK_CONDITION,
    )
    ignored: ClassVar = (*HOLDER_IGNORED, Ignores(_OF_PHYSICAL, if_equal("card_virtual", 1)))
    further: ClassVar = (check_track_names, check_owners, check_password_length)
    lists: ClassVar = ("card_currency_ison", "account_id", "account_owner_id")

    card_program_id: Id
    """The card programme's id. Example: ``101``."""
    card_currency_ison: ExtList[CurrencyIson] | None = None
    """The currencies of the new accounts, one account per currency. The first currency is the card's default.
    Example: ``[978]``.
    """
    card_country_ison: CountryIson
    """The card's country."""
    card_virtual: fields.KindOfCard
    """Whether the card is virtual."""
    card_reference_id: AN[1, 50] | None = None
    """Your own reference. Example: ``"ORDER2026117"``."""
    card_name_line_3: ANS[3, 26]
    """The first embossed line. Example: ``"ADA OKAFOR"``."""
    card_name_line_4: ANS[3, 50] | None = None
    """The second embossed line."""
    card_product_id: Id | None = None
    """The product's id, by default the programme's first product. Example: ``11``."""
    card_fee_group_id: Id | None = None
    """The id of the card's fee group, by default the programme's first fee group. Example: ``301``."""
    card_limit_group_id: Id | None = None
    """The id of the card's limit group, by default the programme's first limit group. Example: ``201``."""
    account_limit_group_id: Id | None = None
    """The id of the new accounts' limit group, by default the programme's limit group, if any. Example: ``211``."""
    card_usage_group_id: Id | None = None
    """The id of the card's usage group, by default the programme's first usage group. Example: ``601``."""
    card_design_id: Id | None = None
    """The design's id. Example: ``21``."""
    card_validity_period: Range[1, LONGEST_VALIDITY] | None = None
    """The card's validity in months, by default the programme's validity. Example: ``36``."""
    card_pin: Digits[4] | None = None
    """The PIN. If the field is absent, a PIN is generated."""
    account_id: ExtList[Id] | None = None
    """The ids of existing accounts to use instead of new accounts. The first account is the primary account."""
    account_owner_id: fields.Beside[Id] | None = None
    """The ids of the holders of the accounts in ``account_id``, in the same order."""
    card_thermal_line_1: ANS[1, 50] | None = None
    """A text printed on the card's back."""
    card_thermal_line_2: ANS[1, 50] | None = None
    """A text printed on the card's back."""
    risk_rules_group_id: Id | None = None
    """The risk rule group's id. Example: ``401``."""
    acs_password: ANS[6, 128] | None = None
    """The 3-D Secure password. If the field is absent, a password is generated. No example."""
    auto_conversion: Flag | None = None
    """Whether transactions in currencies without an account are charged to the default account instead of being
    declined. The default is the programme's setting.
    Example: ``1``.
    """


class ReissueCard(WithEmbossing):
    """reissueCard: replace a card, with the same or a new number and PIN. The new card can be virtual or physical."""

    conditions: ClassVar = (BULK_CONDITION,)
    ignored: ClassVar = (
        Ignores(_OF_PHYSICAL, if_equal("virtual", 1)),
        Ignores(frozenset(("card_pin",)), if_equal("generate_new_pin", 0, default=1)),
    )
    late: ClassVar = Late(_OF_PHYSICAL, if_absent("virtual"))

    card_id: Id
    """The card's id. Example: ``100000033``."""
    generate_new_pan: fields.KeptOrNew | None = None
    """Whether to generate a new card number. By default, the number does not change. Example: ``1``."""
    generate_new_pin: fields.KeptOrNew | None = None
    """Whether to generate a new PIN. By default, a new PIN is generated. Example: ``1``."""
    virtual: fields.KindOfCard | None = None
    """Whether the reissued card is virtual, by default the same as for the existing card. Example: ``0``."""
    card_pin: Digits[4] | None = None
    card_program_id: Id | None = None
    """The new card programme's id, required to change between virtual and physical. No example."""
    card_fee_group_id: Id | None = None
    """The id of the card's fee group. By default, the group is unchanged if the programme allows the group. Otherwise,
    the default is the programme's first fee group.
    """
    card_limit_group_id: Id | None = None
    """The id of the card's limit group. By default, the group is unchanged if the programme allows the group.
    Otherwise, the default is the programme's first limit group.
    """
    card_usage_group_id: Id | None = None
    """The id of the card's usage group. By default, the group is unchanged if the programme allows the group.
    Otherwise, the default is the programme's first usage group.
    """
    card_design_id: Id | None = None
    """The id of the card's design. By default, the design is unchanged if the programme allows the design. Otherwise,
    the default is the programme's first design.
    """
    risk_rules_group_id: Id | None = None
    """The id of the card's risk rule group. By default, the group is unchanged if the programme allows the group.
    Otherwise, the default is the programme's first risk rule group.
    """
    card_name_line_3: ANS[3, 26]
    card_name_line_4: ANS[2, 50] | None = None
    """The second embossed line."""
    auto_conversion: Flag | None = None
    """Whether transactions in currencies without an account are charged to the default account instead of being
    declined. If the field is absent, the setting does not change.
    No example.
    """


class OfCard(Request):
    """The request of an action whose only field is ``card_id``."""

    card_id: Id


class ActivateCard(Request):
    """activateCard: activate a card. Any card data in the request must match."""

    card_id: Id
    card_request_id: Id | None = None
    """The id of the card's latest order."""
    card_pan: Digits[16, 19] | None = None
    """The card number, which must match the card."""
    card_cvc2: Digits[3] | None = None
    """The CVC2, which must match the card. Example: ``"482"``."""
    card_expiration_year: N[4] | None = None
    """The year of expiry, which must match the card. Example: ``2029``."""
    card_expiration_month: Range[1, 12] | None = None
    """The month of expiry, which must match the card. Example: ``11``."""


class AssignCardToFeesGroup(Request):
    card_id: Id
    fees_group_id: Id
    """The card's new fee group. Example: ``302``."""


class AssignCardToLimitsGroup(Request):
    card_id: Id
    limits_group_id: Id
    """The card's new limit group. Example: ``202``."""


class AssignCardToUsageGroup(Request):
    card_id: Id
    usages_group_id: Id
    """The card's new usage group. Example: ``602``."""


class AssignCardToRiskRuleGroup(Request):
    card_id: Id
    risk_rules_group_id: Id
    """The card's new risk rule group. Example: ``402``."""


class ChangeCardSchemeAccountUpdatesStatus(Request):
    card_id: Id
    participating: Flag
    """Whether the card participates in the scheme's account updates. Example: ``1``."""


class ChangeCardStatus(Request):
    """changeCardStatus: change the status of an activated card. Status B is final."""

    card_id: Id
    status: fields.CardStatusToSet
    """The card's new status. Example: ``"T"``."""
    reason_code: fields.ReasonCode | None = None
    """The reason for the status. Example: ``2``."""
    note: ANS[1, 255] | None = None
    """A note on the status change. Example: ``"Requested by telephone"``."""


class SetPin(Request):
    card_id: Id
    pin: Digits[4]
    """The PIN. Example: ``"4917"``."""


class ChangeCardAcsPassword(Request):
    further: ClassVar = (check_password_length,)

    card_id: Id
    acs_password: ANS[6, 128]
    """The 3-D Secure password. Example: ``"Meadow-42-Lantern"``."""


class GetDesign(Request):
    """getDesign: list the designs of a card programme."""

    program_id: Id
    """The card programme's id. Example: ``101``."""


class AuthenticationConfirm(Request):
    """authenticationConfirm: submit the cardholder's response to a 3-D Secure request."""

    auth_request_id: Id
    """The 3-D Secure request's id. Example: ``100000066``."""
    confirmation_status: fields.ConfirmationStatus
    """The cardholder's response."""
    oob_auth_method: N[1, 2]
    """The method by which the cardholder was authenticated, as a number of your choice. Example: ``1``."""
    validation_value: ANS[1, 8] | None = None
    """The value sent to the cardholder. Example: ``"730214"``."""


class CreateCardAcsMerchantWhitelistRule(Request):
    """createCardAcsMerchantWhitelistRule: skip the 3-D Secure challenge if all criteria match."""

    conditions: ClassVar = (
        NeedsOne(("acquirer_bin_merchant_id", "mcc", "merchant_country_ison", "merchant_name")),
        Needs(("maximum_amount_currency_ison",), (if_given("maximum_amount"),)),
        Needs(("maximum_amount",), (if_given("maximum_amount_currency_ison"),)),
    )

    rule_name: ANS[1, 70]
    """The rule's name. Example: ``"Shops around the corner"``."""
    card_id: Id
    acquirer_bin_merchant_id: fields.Pairs | None = None
    """The merchants, as pairs of acquirer BIN and merchant id."""
    mcc: fields.Mccs | None = None
    """The merchant category codes. Example: ``"5411,5812"``."""
    merchant_country_ison: fields.Countries | None = None
    """The countries of the merchants. Example: ``"276,826"``."""
    merchant_name: fields.Merchants | None = None
    """The names of the merchants."""
    rule_code: ANS[1, 36] | None = None
    """Your own reference, unique among your rules. Example: ``"5b0f1f0e-6b7b-4a0a-9d34-2f4c1f0a7e11"``."""
    maximum_amount: N[1, 15] | None = None
    """The maximum amount to which the rule applies, in minor units. Example: ``5000``."""
    maximum_amount_currency_ison: CurrencyIson | None = None
    """The amount's currency. Example: ``978``."""
