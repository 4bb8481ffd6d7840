"""The tables of the card network's actions of the simulator, typed in by hand."""

from __future__ import annotations

from tests.cards.members import Table

_LEVEL = "access_level O LEVEL"
MERCHANT = """
    mcc O DIGITS 4-4
    merchant_name O ANS 1-100
    merchant_id O ANS 1-15
    merchant_country_ison O COUNTRY
    terminal_id O ANS 1-16
"""
_CARD_USE = f"""
    card_id C ID 1-20
    pan C DIGITS 16-19
    transaction_type M TRANSACTION_TYPE
    amount M N 1-15
    currency_ison M CURRENCY
    entry_mode_type O ENTRY_MODE
    cashback_amount O N 1-15
    pin O DIGITS 4-4
    cvc2 O DIGITS 3-3
    expiry_year O N 4-4
    expiry_month O MONTH
    eci_indicator O OF:0,1,2,5,6,7
    partial_approval O FLAG
    {MERCHANT} {_LEVEL}
"""
_COLLECTED = f"""
    trans_link C DIGITS 12-12
    card_id C ID 1-20
    amount M AMOUNT 1-15
    currency_ison M CURRENCY
    final O FLAG
    {MERCHANT} {_LEVEL}
"""
_BALANCES = "available_balance M N \n settled_balance M N"
AUTHORIZATION = f"""
    authorize_id M N
    trans_link M ANS
    response_code M AN
    auth_code C AN
    approved_amount M N
    holder_amount M N
    holder_currency_ison M N
    fee_amount M N
    risk_actions M LIST
    security_checks M LIST
    {_BALANCES}
"""
_RELEASED = f"authorize_id M N \n released_amount M N \n {_BALANCES}"
_CLEARED = f"transaction_id M N \n trans_link M ANS \n holder_amount M N \n released_amount M N \n {_BALANCES}"

NETWORK_TABLES = {
    "simulateAuthentication": Table(
        f"""
        card_id M ID 1-20
        amount M N 1-15
        currency_ison M CURRENCY
        acquirer_bin O DIGITS 4-11
        {MERCHANT} {_LEVEL}
        """,
        "outcome M AN \n auth_request_id C N \n validation_value C AN \n expires_at C N",
    ),
    "simulateAuthorization": Table(f"force_response_code O RESPONSE_CODE \n {_CARD_USE}", AUTHORIZATION),
    "simulateAdvice": Table(f"response_code M RESPONSE_CODE \n {_CARD_USE}", AUTHORIZATION),
    "simulateIncrement": Table(f"trans_link M DIGITS 12-12 \n amount M AMOUNT 1-15 \n {_LEVEL}", AUTHORIZATION),
    "simulateReversal": Table(f"trans_link M DIGITS 12-12 \n amount O AMOUNT 1-15 \n {_LEVEL}", _RELEASED),
    "simulateExpiry": Table(f"trans_link M DIGITS 12-12 \n {_LEVEL}", _RELEASED),
    "simulateClearing": Table(_COLLECTED, _CLEARED),
    "simulateRefund": Table(_COLLECTED, _CLEARED),
    "simulateDispute": Table(
        f"transaction_id M ID 1-11 \n step M STEP 1-10 \n amount O AMOUNT 1-15 \n {_LEVEL}",
        f"dispute_id M N \n reserved_balance M N \n {_BALANCES}",
    ),
}
"""By action."""
