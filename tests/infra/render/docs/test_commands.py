"""The commands page is generated from the help of the command line."""

from infra.render.docs import commands
from tests.kit.documents import rows, section

PAGE = commands.render()


def test_a_command_is_documented_with_purpose_options_and_examples() -> None:
    text = section(PAGE, "### `banks add`")
    options = {row[0]: row[1] for row in rows(text)}

    assert text.strip().startswith("Register a bank and print its API key, once.")
    assert options["--consent-days <int>"].endswith("[default: 180]")
    assert options["BIC <str>"].endswith("[required]")
    assert "```bash\n.venv/bin/python -m infra.admin banks add DEUTDEFF" in text


def test_the_json_option_is_not_repeated_for_every_command() -> None:
    assert "`--json`" not in PAGE
