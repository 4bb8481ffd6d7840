"""An event receiver has at most two signing secrets. During an overlap, events are signed with both secrets."""

from typing import cast

from chalicelib.foundation.crypto import event_signing
from chalicelib.foundation.crypto.event_signing import EventSecret
from chalicelib.foundation.crypto.keyring import Vault

NOW = 1_772_442_000
CONTEXT = "somebody/events_secret"


class Plain:
    """A vault that stores each plaintext with its context and does not encrypt."""

    def seal(self, text: str, context: str) -> bytes:
        return f"{context}:{text}".encode()

    def unseal(self, sealed: bytes, context: str) -> str:
        return sealed.decode().removeprefix(f"{context}:")


VAULT = cast(Vault, Plain())


def made(plain: str) -> EventSecret:
    return event_signing.new_event_secret(VAULT, plain, CONTEXT)


def in_use(secrets: tuple[EventSecret, ...], now: int) -> list[str]:
    return event_signing.in_use(VAULT, secrets, CONTEXT, now)


def test_the_old_event_secret_creates_signatures_until_the_overlap_ends() -> None:
    secrets = event_signing.rotate_secrets([made("old")], made("new"), NOW, 60)

    assert [in_use(secrets, now) for now in (NOW, NOW + 59, NOW + 60)] == [["new", "old"], ["new", "old"], ["new"]]


def test_the_old_event_secret_remains_valid_only_if_the_rotation_has_an_overlap() -> None:
    two = event_signing.rotate_secrets([made("old")], made("new"), NOW, 60)

    assert in_use(event_signing.rotate_secrets(two, made("newest"), NOW, 60), NOW) == ["newest", "new"]
    assert in_use(event_signing.rotate_secrets(two, made("newest"), NOW, 0), NOW) == ["newest"]


def test_stored_event_secrets_are_read_back_and_hidden_in_repr() -> None:
    secrets = event_signing.rotate_secrets([made("old")], made("new"), NOW, 60)

    assert event_signing.of_items(event_signing.as_items(secrets)) == secrets
    assert "old" not in repr(secrets)
