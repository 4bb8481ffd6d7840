"""For each file of the corpus, the parser accepts the input or raises a documented error."""

from pathlib import Path

import pytest

from tests.fuzzing.credential_parsers import CORPUS
from tests.fuzzing.parsers import TARGETS

FILES = sorted(file.relative_to(CORPUS) for file in CORPUS.glob("*/*"))


@pytest.mark.parametrize("file", FILES, ids=str)
def test_a_parser_accepts_a_corpus_file_or_raises_a_documented_error(file: Path) -> None:
    TARGETS[file.parent.name].run((CORPUS / file).read_bytes())


def test_each_parser_has_a_corpus_with_a_limited_number_of_small_files() -> None:
    assert {file.parent.name for file in FILES} == TARGETS.keys()
    assert len(FILES) <= 45
    assert all((CORPUS / file).stat().st_size <= TARGETS[file.parent.name].max_bytes for file in FILES)
