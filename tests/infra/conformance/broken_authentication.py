"""Banks with one fault each in how they authenticate the hub: signature, API key, token of the consent."""

from __future__ import annotations

import json

from chalicelib.openbanking.protocol.webhooks import Webhook
from tests.infra.conformance.small_bank import API_KEY, SmallBank


class AcceptsAnySignature(SmallBank):
    def accepts_signature(self, body: bytes, given: str) -> bool:
        return True


class AcceptsSignaturesOfOtherBytes(SmallBank):
    """It removes white space at the end of what it verifies, and adds it again."""

    def accepts_signature(self, body: bytes, given: str) -> bool:
        return super().accepts_signature(body, given) or super().accepts_signature(body + b"\n", given)


class VerifiesJsonWrittenAgain(SmallBank):
    """It verifies the signature over JSON that it parsed and wrote again."""

    def accepts_signature(self, body: bytes, given: str) -> bool:
        try:
            written = json.dumps(json.loads(body), separators=(",", ":"), ensure_ascii=False)
        except ValueError:
            return False
        return super().accepts_signature(written.encode(), given)


class AlsoVerifiesJsonWrittenAgain(VerifiesJsonWrittenAgain):
    """It accepts a signature over the body, too."""

    def accepts_signature(self, body: bytes, given: str) -> bool:
        return SmallBank.accepts_signature(self, body, given) or super().accepts_signature(body, given)


class AcceptsTheBeginningOfTheKey(SmallBank):
    def accepts_key(self, given: str) -> bool:
        return bool(given) and API_KEY.startswith(given)


class AcceptsWhatBeginsWithTheKey(SmallBank):
    def accepts_key(self, given: str) -> bool:
        return given.startswith(API_KEY)


class ComparesTheKeyWithoutCase(SmallBank):
    def accepts_key(self, given: str) -> bool:
        return given.lower() == API_KEY.lower()


class IgnoresTheKey(SmallBank):
    def accepts_key(self, given: str) -> bool:
        return True


class AcceptsAnyToken(SmallBank):
    def accepts_token(self, given: str) -> bool:
        return True


class FindsTokens(SmallBank):
    """It takes a token for a consent's if ``is_like`` says so."""

    def is_like(self, given: str, token: str) -> bool:
        raise NotImplementedError

    def accepts_token(self, given: str) -> bool:
        return any(self.is_like(given, token) for token in self.consents)

    def check_consent(self, webhook: Webhook, token: str) -> None:
        found = next((each for each in self.consents if token and self.is_like(token, each)), token)
        super().check_consent(webhook, found)


class ReadsTheIdOfTokensOnly(FindsTokens):
    def is_like(self, given: str, token: str) -> bool:
        return given.partition(".")[0] == token.partition(".")[0]


class AcceptsTheBeginningOfTokens(FindsTokens):
    def is_like(self, given: str, token: str) -> bool:
        return bool(given) and token.startswith(given)


class ComparesTokensWithoutCase(FindsTokens):
    def is_like(self, given: str, token: str) -> bool:
        return given.lower() == token.lower()
