"""Tests that the conformance kit masks secrets in all reports, also if a secret is encoded."""

import dataclasses
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from chalicelib.foundation.crypto import signatures
from chalicelib.openbanking.protocol.errors import Refusal
from chalicelib.openbanking.protocol.version import Version
from chalicelib.openbanking.protocol.versions import VERSIONS
from infra.conformance import kit, report
from infra.conformance.checks import checks_of
from infra.conformance.masking import Masking
from infra.conformance.psu import ScriptPsu
from infra.conformance.terminal import Terminal
from tests.infra.conformance.faults import AcceptsAnySignature
from tests.infra.conformance.kit_runs import HUB_KEY, run_checks, run_kit, session_with
from tests.infra.conformance.small_bank import API_KEY, Answer, SmallBank


def test_a_secret_is_masked_in_text_json_and_urls() -> None:
    masking = Masking()
    masking.add('se/cret+"1')

    assert masking.mask('a se/cret+"1 b') == "a *** b"
    assert masking.mask(r'{"a": "se/cret+\"1"}') == '{"a": "***"}'
    assert masking.mask("?code=se%2Fcret%2B%221") == "?code=***"


def test_a_longer_secret_is_masked_before_its_prefix() -> None:
    masking = Masking()
    masking.add("secret-1", "secret-1-and-more")

    assert masking.mask("secret-1-and-more") == "***"


def test_short_texts_are_not_masked() -> None:
    masking = Masking()
    masking.add("1", "", "short")

    assert masking.mask("1 short") == "1 short"


@pytest.mark.parametrize("version", VERSIONS.values(), ids=str)
@pytest.mark.parametrize("kind", [SmallBank, AcceptsAnySignature])
def test_conformance_reports_and_output_contain_no_keys_tokens_codes_or_signatures(
    version: Version, kind: type[SmallBank], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import sys

    session = session_with(kind(version))
    terminal = Terminal(sys.stdout)
    terminal.begin(session.bank, 1)
    ended = kit.run(session, checks_of(version), terminal.show)
    terminal.end(ended, report.write(ended, tmp_path))
    tokens = list(session.hub.tokens)
    codes = [each.callback_url.partition("code=")[2].partition("&")[0] for each in session.hub.tokens.values()]
    signed = [call.headers["x-signature"] for call in session.hub.calls]

    secrets = [API_KEY, *tokens, *codes, *signed]
    secrets += signatures.public_pem(HUB_KEY.public_key()).splitlines()[1:2]
    texts = [file.read_text("utf-8") for file in tmp_path.iterdir()] + [capsys.readouterr().out]
    assert len(texts) == 4
    assert len(tokens) >= 3
    for text in texts:
        assert [secret for secret in secrets if secret in text] == []


def test_the_private_key_of_the_hub_is_masked_in_the_output_of_a_psu_command(tmp_path: Path) -> None:
    pem = HUB_KEY.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode("ascii")
    (tmp_path / "hub.pem").write_text(pem, "ascii")
    chosen = [check for check in checks_of(VERSIONS[2]) if check.check_id == "consent.initiated"]
    session = session_with(SmallBank(VERSIONS[2]))
    session.psu = ScriptPsu(["sh", "-c", f"cat {tmp_path}/hub.pem; exit 1"], 10)
    (result,) = run_checks(session, chosen).results

    assert result.outcome == "failed"
    assert "exit code 1" in result.sent
    assert [line for line in pem.splitlines()[1:-1] if len(line) > 8 and line in result.sent + result.problem] == []


def test_conformance_results_contain_no_api_key() -> None:
    ended = run_checks(session_with(SmallBank(VERSIONS[2])), checks_of(VERSIONS[2])[:20])

    texts = [str(dataclasses.astuple(dataclasses.replace(each, check=None))) for each in ended.results]  # type: ignore[arg-type]
    assert not any(API_KEY in text for text in texts)


def test_parts_of_the_api_key_in_bank_responses_are_masked() -> None:
    class RepeatsTheKey(SmallBank):
        def accepts_key(self, given: str) -> bool:
            self.given = given
            return super().accepts_key(given)

        def error(self, refusal: Refusal, request_id: str) -> Answer:
            return super().error(Refusal(refusal.fault, f"wrong: {self.given}"), request_id)

    shown = [each.received for each in run_kit(RepeatsTheKey(VERSIONS[2]), "accounts.key-*").results]

    assert [text for text in shown if API_KEY[8:-1] in text or API_KEY.swapcase()[8:] in text] == []
