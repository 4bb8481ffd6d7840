"""The specification's webhook and error tables, typed in by hand as the reference for tests.

A line is a member, its requirement (M mandatory, O optional, C conditional), its type (A letters, AN printable text, N
digits, B boolean, LIST, OBJECT) and its maximum length, if any. ``payments[].amount`` is a member of every entry of a
list. Members of a record without requirements are mandatory, except ``additional_data``, which contains the bank's own
data. A version 2 creditor is mandatory in these tables, because at least one account number of the creditor is
mandatory. A version 1 ``paginator`` is an object in these tables, as in responses to the TPP.
"""

from dataclasses import dataclass, field
from functools import cached_property

IDENTIFIERS = (
    "payment_id",
    "transaction_id",
    "resource_id",
    "internal_account_id",
    "bban",
    "account_number",
    "sort_code",
)
"""The names of the identifiers, in addition to members ``id`` of type AN."""


@dataclass(frozen=True)
class Member:
    """A line of a table. ``mandatory`` is true only if all enclosing members are also mandatory."""

    path: str
    requirement: str
    type: str
    length: int | None
    mandatory: bool

    @property
    def name(self) -> str:
        return self.path.rpartition(".")[2].removesuffix("[]")

    @property
    def identifies(self) -> bool:
        """Return whether the member is an identifier. In bank responses, an identifier may be a JSON integer."""
        return self.name in IDENTIFIERS or (self.name == "id" and self.type == "AN")

    @property
    def place(self) -> tuple[str | int, ...]:
        """Return the path of the member in a body, through the first entry of every list."""
        steps: list[str | int] = []
        for part in self.path.split("."):
            steps += [part.removesuffix("[]"), 0] if part.endswith("[]") else [part]
        return tuple(steps)

    @property
    def shown(self) -> str:
        return ".".join(map(str, self.place))


@dataclass(frozen=True)
class Table:
    request_lines: str = field(repr=False)
    answer_lines: str = field(repr=False)

    @cached_property
    def request(self) -> list[Member]:
        return _members(self.request_lines)

    @cached_property
    def answer(self) -> list[Member]:
        return _members(self.answer_lines)


def _members(lines: str) -> list[Member]:
    found: dict[str, Member] = {}
    for line in filter(None, map(str.strip, lines.splitlines())):
        path, requirement, kind, *length = line.split()
        around = path.rpartition(".")[0].removesuffix("[]")
        mandatory = requirement == "M" and (not around or found[around].mandatory)
        found[path] = Member(path, requirement, kind, int(length[0]) if length else None, mandatory)
    return list(found.values())


def _below(holder: str, lines: str) -> str:
    return "\n".join(f"{holder}.{line.strip()}" for line in lines.strip().splitlines())


# -- version 1: every successful answer also has status M AN 10

ACCOUNT_1 = """
    id M N 20
    name M AN 50
    iban M AN 34
    currency M A 3
    additional_data O LIST
"""
BALANCE_1 = """
    id M N 20
    name M AN 20
    balance M N 50
    currency M A 3
"""
PARTY_1 = """
    iban C AN 34
    account_name C AN 50
    account_number C AN 34
    sort_code C AN 6
    bic C AN 12
    internal_account_id C AN
    card_number C N 19
"""
PAYMENT_1 = f"""
    id M AN 20
    reference M AN 30
    date_created M AN 10
    amount M N 20
    status O N 10
    type O AN 18
    description M AN 255
    additional_data O LIST
    additional_data[].sender_data O OBJECT
    {_below("additional_data[].sender_data", PARTY_1)}
    additional_data[].sender_data.currency M AN 3
    additional_data[].receiver_data O OBJECT
    {_below("additional_data[].receiver_data", PARTY_1)}
    additional_data[].receiver_data.currency C AN 3
"""
LISTED_PAYMENT_1 = PAYMENT_1.replace("receiver_data.currency C", "receiver_data.currency M")
ONE_ACCOUNT_1 = """
    iban C AN 34
    account_id C AN 34
"""
RECEIVER_1 = """
    amount M N 10
    currency M A 3
    reference O AN 18
    receiver_name M A 40
    receiver_iban C AN 34
    receiver_account_number C N 34
    receiver_sort_code C AN 6
    message_for_receiver O AN 35
    payment_scheme M AN
    receiver_address O OBJECT
    receiver_address.street_name O AN 50
    receiver_address.building_number O AN 5
    receiver_address.town_name O A 50
    receiver_address.post_code O AN 10
"""
INITIATED_1 = """
    confirmation_url M AN
    payment_id M AN
"""
DIRECT_1 = f"""
    {RECEIVER_1}
    receiver_address.country O A 3
    callback_url M AN
"""

VERSION_1: dict[str, Table] = {
    "/accounts": Table("", f"accounts M LIST\n{_below('accounts[]', ACCOUNT_1)}"),
    "/account": Table(ONE_ACCOUNT_1, f"account M OBJECT\n{_below('account', ACCOUNT_1)}"),
    "/account_balance": Table(ONE_ACCOUNT_1, f"accounts M LIST\n{_below('accounts[]', BALANCE_1)}"),
    "/account_payment": Table("payment_id M AN 20", f"payment M OBJECT\n{_below('payment', PAYMENT_1)}"),
    "/account_payments": Table(
        f"""
        {ONE_ACCOUNT_1}
        record_count O N 3
        current_page O N 3
        """,
        f"""
        payments M LIST
        {_below("payments[]", LISTED_PAYMENT_1)}
        paginator M OBJECT
        paginator.limit M N 3
        paginator.current_page M N 3
        """,
    ),
    "/payment_initiation": Table(f"sender_iban C AN 34\n{DIRECT_1}", INITIATED_1),
    "/direct_payment_initiation": Table(DIRECT_1, INITIATED_1),
    "/bulk_payment_initiation": Table(
        f"""
        sender_iban M AN 34
        callback_url M AN
        totals M LIST
        totals[].currency M A 3
        totals[].amount M N 10
        payments M LIST
        {_below("payments[]", RECEIVER_1)}
        payments[].receiver_address.country M A 2
        """,
        INITIATED_1,
    ),
    "/funds_confirmations": Table(
        """
        account M OBJECT
        account.iban C AN 34
        account.account_id C AN 20
        instructed_amount M OBJECT
        instructed_amount.amount M N 10
        instructed_amount.currency M A 3
        """,
        """
        funds_available C B
        currency C A 3
        balance C N 10
        """,
    ),
    "/revoke_token": Table("access_token M AN", ""),
}

# -- version 2

IDENTIFIERS_2 = """
    iban C AN 34
    bban C AN 30
    account_number C N 8
    sort_code C N 6
"""
REFERENCE_2 = f"""
    resource_id M AN
    {IDENTIFIERS_2.strip()}
    currency M A 3
    name O AN
    payment_schemes O LIST
"""
TRANSACTION_2 = f"""
    transaction_id O AN
    creditor_name O AN
    creditor_account O OBJECT
    {_below("creditor_account", IDENTIFIERS_2)}
    debtor_name O AN
    debtor_account O OBJECT
    {_below("debtor_account", IDENTIFIERS_2)}
    remittance_information_unstructured O AN 140
    remittance_information_structured O OBJECT
    remittance_information_structured.reference M AN 35
    remittance_information_structured.reference_type M AN 35
    transaction_amount M OBJECT
    transaction_amount.amount M N
    transaction_amount.currency M A 3
    transaction_amount.value_date O AN 10
    transaction_amount.booking_date O AN 10
"""
CREDITOR_2 = f"""
    creditor_account M OBJECT
    {_below("creditor_account", IDENTIFIERS_2)}
    creditor_name O AN 70
    remittance_information_unstructured O AN 140
    remittance_information_structured O OBJECT
    remittance_information_structured.reference M AN 35
    remittance_information_structured.reference_type M A 35
    creditor_address C OBJECT
    creditor_address.street_name O AN 70
    creditor_address.building_number O AN
    creditor_address.town_name O AN
    creditor_address.postal_code O AN
    creditor_address.country M A 2
    instructed_amount M OBJECT
    instructed_amount.amount M N 70
    instructed_amount.currency M A 3
"""
DEBTOR_2 = f"""
    payment_scheme O A 5
    debtor_account O OBJECT
    {_below("debtor_account", IDENTIFIERS_2)}
    debtor_name O AN 70
    callback_url M AN
"""
INITIATED_2 = """
    status M A 4
    confirmation_url M AN
    payment_id M AN 255
"""
STATUS_2 = Table("payment_id M AN 255", "transaction_status M AN 255")

VERSION_2: dict[str, Table] = {
    "/v2_accounts": Table("", f"accounts M LIST\n{_below('accounts[]', REFERENCE_2)}"),
    "/v2_account": Table("account_id M AN", f"account M OBJECT\n{_below('account', REFERENCE_2)}"),
    "/v2_account_balances": Table(
        "account_id M AN",
        """
        balances M LIST
        balances[].balance_amount M OBJECT
        balances[].balance_amount.amount M N
        balances[].balance_amount.currency M A 3
        balances[].balance_type M A
        """,
    ),
    "/v2_account_transactions": Table(
        """
        account_id M AN
        booking_status M A 7
        page_key C AN
        page_size O N 3
        date_from O AN 10
        date_to O AN 10
        """,
        f"""
        transactions M OBJECT
        transactions.booked M LIST
        {_below("transactions.booked[]", TRANSACTION_2)}
        transactions.pending M LIST
        {_below("transactions.pending[]", TRANSACTION_2)}
        page_key C AN
        """,
    ),
    "/v2_payment_single": Table(
        f"""
        {DEBTOR_2}
        {CREDITOR_2}
        creditor_bank C OBJECT
        creditor_bank.name M AN
        creditor_bank.bic O AN
        creditor_bank.country M AN 2
        """,
        INITIATED_2,
    ),
    "/v2_payment_single_status": STATUS_2,
    "/v2_payment_bulk": Table(
        f"""
        {DEBTOR_2}
        instructed_totals M OBJECT
        instructed_totals.currency M A 3
        instructed_totals.amount M N 10
        payments M LIST
        {_below("payments[]", CREDITOR_2)}
        """,
        INITIATED_2,
    ),
    "/v2_payment_bulk_status": STATUS_2,
    "/v2_payment_direct_single": Table(f"{DEBTOR_2}\n{CREDITOR_2}", INITIATED_2),
    "/v2_funds_confirmations": Table(
        f"""
        account M OBJECT
        {_below("account", IDENTIFIERS_2)}
        instructed_amount M OBJECT
        instructed_amount.amount M N 70
        instructed_amount.currency M A 3
        """,
        "funds_available M B",
    ),
    "/revoke_token": Table("access_token M AN", ""),
}

TABLES: dict[int, dict[str, Table]] = {1: VERSION_1, 2: VERSION_2}

# -- errors: version 1 by the HTTP status that the project decided on, version 2 by that of its table

CODES_1 = {
    **dict.fromkeys((4001, 4003, 4300, 4301, 4302, 4303, 4305, 4306, 4307), 400),
    **dict.fromkeys((4200, 4201, 4202, 4203, 4204), 401),
    4004: 403,
    4205: 409,
    **dict.fromkeys((4000, 4002), 500),
    4005: 502,
}
CODES_2 = {
    "INTERNAL_SERVER_ERROR": 500,
    "PAYMENT_SCHEME_INVALID": 400,
    "ASPSP_UNKNOWN_ERROR": 502,
    "PARAMETER_NOT_CONSISTENT": 400,
    "FORMAT_ERROR": 400,
    "HEADERS_ERROR": 400,
    "SERVICE_BLOCKED": 403,
    "RESOURCE_UNKNOWN": 404,
    "WRONG_CREDENTIALS": 401,
    "AUTHENTICATION_REQUIRED": 401,
    "API_ACTION_DOES_NOT_EXIST": 401,
    "SSL_CREDENTIALS_NOT_FOUND": 401,
    "REQUEST_ID_NOT_UUID": 401,
}
ADDITIONAL_CODES = {
    "ASPSP_ERROR_DESC",
    "EXTRA_FIELDS_PROVIDED",
    "INVALID_DATE_FORMAT",
    "INVALID_MODEL_TYPE",
    "INVALID_PAYMENT_ID_FORMAT",
    "INVALID_PAYMENT_STATUS_FORMAT",
    "AUTHORIZATION_REQUEST_URL_DOES_NOT_EXIST",
    "AUTHORIZATION_REQUEST_URL_NOT_VALID",
    "AUTHORIZATION_SCOPE_DOES_NOT_EXIST",
    "AUTHORIZATION_SCOPE_NOT_CORRECT",
    "AUTHORIZATION_IBAN_NOT_VALID",
    "AUTHORIZATION_SELECTED_WRONG_SCOPE",
    "AUTHORIZATION_ACCOUNT_IDENTIFIERS_MISSING",
    "AUTHORIZATION_TOKEN_NOT_VALID",
}
