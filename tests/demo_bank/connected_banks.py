"""The demonstration banks connected to the service, and their customers."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlencode, urlsplit

import responses

from chalicelib.demo_bank.banks import get_bank
from chalicelib.demo_bank.profiles import BY_NAME, PROFILES
from chalicelib.demo_bank.setup import install
from chalicelib.foundation.http.outbound import TOTAL_SECONDS, Outbound, Reply, TimedOut
from tests.causeway import Answer, Causeway
from tests.demo_bank.parties import BANK_PEMS, SCOPES, query_of
from tests.openbanking.kit import ReceivedRequest

BICS: Mapping[str, str] = {profile.name: profile.bic for profile in PROFILES}

CUSTOMERS = {"one": "carys", "two": "sofia"}


class Wires(Outbound):
    """Connects calls of the service to the routes of the banks. A call to a bank times out if the bank's pause is too
    long.

    The service's event receiver gets the events.

    ``pauses`` lists the simulated pauses of the banks in seconds.
    """

    def __init__(self, causeway: Causeway) -> None:
        self._causeway = causeway
        self.pauses: list[float] = []
        for profile in PROFILES:
            get_bank(profile.name, causeway.hub).pause = self.pauses.append

    def post(
        self, url: str, body: bytes, headers: Mapping[str, str], *, repeat: bool, fresh: bool = False, **_: object
    ) -> Reply:
        if url == self._causeway.receiver.url:
            return self._causeway.receiver.answer(ReceivedRequest(url, dict(headers), body))
        before = len(self.pauses)
        answer = self._causeway.call("POST", urlsplit(url).path, body, headers)
        if sum(self.pauses[before:]) > TOTAL_SECONDS:
            raise TimedOut("no answer came in time")
        return Reply(answer.status, answer.text.encode(), answer.headers, 0.01)


@contextmanager
def connect_banks(causeway: Causeway) -> Iterator[Causeway]:
    kept = {name: {"signing_key": pem} for name, pem in BANK_PEMS.items()}  # making keys takes time
    causeway.hub.secrets.put(causeway.hub.settings.demo_banks_secret, kept)
    with wire_banks(causeway):
        install(causeway.hub, causeway.hub.openbanking.banks)
        yield causeway
    for bic in BICS.values():
        causeway.hub.openbanking.banks.remove(bic)
    causeway.hub.secrets.put(causeway.hub.settings.demo_banks_secret, {})
    for item in list(causeway.hub.store.scan("demo-banks")):
        causeway.hub.store.delete("demo-banks", {"bank": item["bank"], "id": item["id"]})


@contextmanager
def wire_banks(causeway: Causeway) -> Iterator[None]:
    """Connect the service and the demonstration banks in both directions, including banks that are created later."""
    causeway.hub.__dict__["outbound"] = Wires(causeway)
    causeway.hub.__dict__.pop("openbanking", None)
    causeway.hub.__dict__.pop("delivery", None)

    def arrive(request: Any) -> tuple[int, Mapping[str, str], str]:
        parts = urlsplit(request.url)
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        answer = causeway.call(request.method, target, request.body, dict(request.headers))
        return answer.status, {}, answer.text

    with responses.RequestsMock(assert_all_requests_are_fired=False) as mock:
        everything = re.compile(re.escape(causeway.hub.settings.bank_api_url) + "/bank/.*")
        for method in (responses.GET, responses.POST):
            mock.add_callback(method, everything, callback=arrive)
        yield


class Psu:
    def __init__(self, causeway: Causeway, bank: str, customer: str = "") -> None:
        self._causeway = causeway
        self._base = f"/demo-bank/{bank}"
        self._customer = customer or CUSTOMERS[bank]
        self._cookie = ""
        self._journey = ""

    def arrive(self, url: str) -> Answer:
        parts = urlsplit(url)
        answer = self._causeway.call("GET", f"{parts.path}?{parts.query}")
        if answer.status == 303:
            self._cookie = answer.headers["set-cookie"].partition(";")[0]
            self._journey = query_of(answer.headers["location"])["journey"]
        return answer

    def post(self, place: str, **fields: Any) -> Answer:
        body = urlencode({"journey": self._journey} | fields, doseq=True).encode()
        headers = {"cookie": self._cookie, "content-type": "application/x-www-form-urlencoded"}
        return self._causeway.call("POST", self._base + place, body, headers)

    def look(self, answer: Answer) -> str:
        return self._causeway.call("GET", answer.headers["location"], headers={"cookie": self._cookie}).text

    def pay(self, url: str) -> dict[str, str]:
        secret, customer = urlsplit(url).path.rpartition("/")[2], self._customer
        signed_in = self.post("/payment/sign-in", payment=secret, username=customer, password=f"sandbox-{customer}")
        self._cookie = signed_in.headers["set-cookie"].partition(";")[0]
        page = self.look(signed_in)
        fields = {"payment": secret, "form_token": re.findall(r'name="form_token" value="([^"]+)"', page)[0]}
        if accounts := re.findall(r'name="account" value="([^"]+)"', page):
            page = self.look(self.post("/payment/choose", account=accounts[0], **fields))
        code = re.findall(r'id="sent">(\d{6})<', page)
        answer = self.post("/payment/confirm", key_code=code[0], **fields)
        assert answer.status == 303, answer
        return query_of(answer.headers["location"])

    def approve(self, url: str, count: int = 2) -> str:
        self.arrive(url)
        page = self.look(self.post("/sign-in", username=self._customer, password=f"sandbox-{self._customer}"))
        accounts = re.findall(r'name="account" value="([^"]+)"', page)[:count]
        code = re.findall(r'id="sent">(\d{6})<', self.look(self.post("/choose", account=accounts)))
        answer = self.post("/confirm", key_code=code[0])
        assert answer.status == 303, answer
        return answer.headers["location"]


def authorize(causeway: Causeway, bank: str, **members: Any) -> Any:
    asked = {"bic": BICS[bank], "scopes": SCOPES[BY_NAME[bank].version], "state": f"{id(causeway)} +&é"} | members
    answer = causeway.tpp.call("POST", "/tpp/authorize", asked)
    assert answer.status == 200, answer
    return answer.body


def tokens(causeway: Causeway, bank: str, **members: Any) -> Any:
    callback = Psu(causeway, bank).approve(authorize(causeway, bank, **members)["redirect_url"])
    answer = causeway.tpp.call("POST", "/tpp/token", {"authorization_code": query_of(callback)["code"]})
    assert answer.status == 200, answer
    return answer.body


PAYMENT_SCOPES = {"one": ["payment.init"], "two": ["payments.single"]}


def payment(causeway: Causeway, bank: str, **members: Any) -> dict[str, Any]:
    """Return a payment that settles 20 seconds after its confirmation."""
    back = f"{causeway.hub.settings.public_url}/payments/callback?order=7"
    if BY_NAME[bank].version == 1:
        receiver = {"receiver_name": "Elsewhere", "receiver_iban": "GB33BUKB20201555555555", "amount": "9.99"}
        return receiver | {"currency": "GBP", "payment_scheme": "BACS", "callback_url": back} | members
    amount, receiver = {"amount": "9.99", "currency": "EUR"}, {"iban": "FR1420041010050500013M02606"}
    return {"creditor_account": receiver, "instructed_amount": amount, "callback_url": back} | members
