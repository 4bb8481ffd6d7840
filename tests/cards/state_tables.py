"""The states of cards, accounts, addresses, mandates and payments, typed in by hand from the documentation.

Each table says what an action is answered from each state: ``OK``, or the code that it is refused with.
"""

from __future__ import annotations

OK = 0
Table = dict[str, dict[str, int]]


def table(text: str) -> Table:
    """Rows by their first word, columns by the first line; ``ok`` is a success."""
    columns, *lines = [line.split() for line in text.strip().splitlines()]
    codes = [(row, [OK if word == "ok" else int(word) for word in words]) for row, *words in lines]
    return {row: dict(zip(columns, values, strict=True)) for row, values in codes}


CARD = table(
    """
                                          N    A    T    R    L    S    E    B
    activateCard                         ok 4006 4008 4008 4008 4008 4008 4002
    setPin                               ok   ok   ok   ok 4008 4008 4008 4002
    unblockPin                         4007   ok   ok   ok 4008 4008 4008 4002
    authenticationConfirm              4008   ok 4008 4008 4008 4008 4008 4002
    reissueCard                          ok   ok   ok   ok   ok   ok   ok 4002
    assignCardToFeesGroup                ok   ok   ok   ok   ok   ok   ok 4002
    assignCardToLimitsGroup              ok   ok   ok   ok   ok   ok   ok 4002
    assignCardToUsageGroup               ok   ok   ok   ok   ok   ok   ok 4002
    assignCardToRiskRuleGroup            ok   ok   ok   ok   ok   ok   ok 4002
    changeCardSchemeAccountUpdatesStatus ok   ok   ok   ok   ok   ok   ok 4002
    changeCardAcsPassword                ok   ok   ok   ok   ok   ok   ok 4002
    createCardAcsMerchantWhitelistRule   ok   ok   ok   ok   ok   ok   ok 4002
    createAccount                        ok   ok   ok   ok   ok   ok   ok 4002
    """
)
"""By action, then by the card's state."""

READS = (
    *("getAccounts", "getCvc2", "getCardDetails", "getCardNumber", "getPin", "getCardStatus", "getCardAcsPassword"),
    *("getHolder", "getCardFees", "getCardsActivity", "getFinancialAuthorizes", "getTransactions"),
)
"""What may be asked of a card in every state."""

MENTIONING = ("assignExternalPaymentAddress", "assignExternalPaymentAddressForSpecialAccount", "createCustomFee")
"""What names a card, and changes nothing of it: any state lets it pass but B, on which there are no writes."""
NAMED = {action: {state: 4002 if state == "B" else OK for state in "NATRLSEB"} for action in MENTIONING}

MOVES = table(
    """
         A    T    R    L    S    B
    N 4001 4001 4001 4001 4001 4001
    A   ok   ok   ok   ok   ok   ok
    T   ok   ok   ok   ok   ok   ok
    R   ok   ok   ok   ok   ok   ok
    L 4008 4008 4008   ok 4008   ok
    S 4008 4008 4008 4008   ok   ok
    E 4008 4008 4008 4008 4008   ok
    B 4002 4002 4002 4002 4002 4002
    """
)
"""changeCardStatus: by the card's state, then by what is asked for."""

ACCOUNT = table(
    """
                                    A    S    R    C
    changeAccountProgramId         ok   ok   ok 4003
    assignAccountToRiskRuleGroup   ok   ok   ok 4003
    assignAccountToLimitRuleGroup  ok   ok   ok 4003
    assignAccountToFeeRuleGroup    ok   ok   ok 4003
    createCard                     ok 4003   ok 4003
    getAccounts                    ok   ok   ok   ok
    getTransactions                ok   ok   ok   ok
    """
)
"""By action, then by the account's state."""

MONEY_ACCOUNT = table(
    """
                                          A    S    R    C
    assignExternalPaymentAddress         ok 4003   ok 4003
    createCustomFee                      ok 4003 4003 4003
    transferToExternalPayment            ok 4003 4003 4003
    inboundReturn                        ok 4003 4003 4003
    directCreditReturn                   ok 4003 4003 4003
    directDebitReturn                    ok   ok   ok   ok
    getAccountExternalPaymentAddresses   ok   ok   ok   ok
    """
)
"""The same of what moves money: debits and fees from A only; a direct debit is taken back in any state."""

ACCOUNT_MOVES = table(
    """
         A    S    R    C
    A   ok   ok   ok   ok
    S   ok   ok   ok   ok
    R   ok   ok   ok   ok
    C 4002 4002 4002 4002
    """
)
"""changeAccountStatus: by the account's state, then by what is asked for; the balances are zero."""

# -- external payments

ADDRESS = table(
    """
                                         A    S    B
    transferToExternalPayment           ok 4008 4008
    simulateMandate                     ok 4008 4008
    inboundReturn                       ok   ok   ok
    directCreditReturn                  ok   ok   ok
    directDebitReturn                   ok   ok   ok
    getExternalPaymentAddress           ok   ok   ok
    getAccountExternalPaymentAddresses  ok   ok   ok
    """
)
"""By action, then by the address's state."""
ADDRESS_MOVES = table(
    """
         A    S    B
    A   ok   ok   ok
    S   ok   ok   ok
    B 4002 4002 4002
    """
)
"""changeExternalPaymentAddressStatus: by the address's state, then by what is asked for."""

MANDATE = table(
    """
                                    A    C
    cancelExternalPaymentMandate   ok 4005
    """
)
"""By action, then by the mandate's state."""

PAYMENT = table(
    """
                                out.P out.S out.J out.R in.S in.J in.R debit.P debit.S debit.J debit.R return.P return.S
  inboundReturn                  4008  4008  4008  4004   ok 4008 4004    4008    4008    4008    4004     4008     4008
  directCreditReturn             4008  4008  4008  4004   ok 4008 4004    4008    4008    4008    4004     4008     4008
  directDebitReturn              4008  4008  4008  4004 4008 4008 4004    4008      ok    4008    4004     4008     4008
  changeDDExternalPaymentStatus  4008  4008  4008  4004 4008 4008 4004      ok    4008    4008    4004     4008     4008
  simulateDirectDebit            4008  4008  4008  4004 4008 4008 4004      ok    4008    4008    4004     4008     4008
    """
)
"""By action, then by the payment's kind and state; ``in`` is of a scheme that the action returns."""
RESULTS = table(
    """
                out.P out.S out.J out.R in.S in.J in.R debit.P debit.S debit.J debit.R return.P return.S
    settled        ok    ok  4008  4004 4008 4008 4008    4008    4008    4008    4008     4008     4008
    rejected       ok  4008    ok  4004 4008 4008 4008    4008    4008    4008    4008     4008     4008
    returned     4008    ok  4008    ok 4008 4008 4008    4008    4008    4008    4008     4008     4008
    """
)
"""simulateOutboundResult: by what is reported, then by the payment; what is known already may be reported again."""
