"""The rendered folder is written only when inputs have changed. Only one process writes at a time, and writes are
atomic.
"""

import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

import pytest

from chalicelib.website.rendered_files import FINGERPRINT
from infra.render import __main__ as command
from infra.render.rendered_folder import compute_fingerprint, is_current, update
from infra.render.sdk import __main__ as sdk_command
from infra.render.sdk import modules as sdk_modules
from infra.repository import ROOT
from tests.kit.time import PATIENCE_SECONDS

TEXTS = {"docs/index.json": "{}", "openapi/tpp.json": "[]"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("chalicelib/website", "docs"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "docs" / "tour.md").write_text("# Tour", "utf-8")
    return tmp_path


def folder_of(root: Path) -> Path:
    return root / "chalicelib" / "website" / "rendered"


def files_of(root: Path) -> dict[str, str]:
    folder = folder_of(root)
    files = [file for file in folder.rglob("*") if file.is_file() and file.name != FINGERPRINT]
    return {file.relative_to(folder).as_posix(): file.read_text("utf-8") for file in files}


def test_unchanged_inputs_are_rendered_only_once(root: Path) -> None:
    assert update(lambda: TEXTS, root, folder_of(root))

    assert not update(lambda: pytest.fail("rendered again"), root, folder_of(root))
    assert files_of(root) == TEXTS


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("docs/tour.md", True),
        ("docs/guides/bank.py", True),
        ("chalicelib/cards/actions.py", True),
        ("sdk/src/causeway/errors.py", True),
        ("pyproject.toml", True),
        ("chalicelib/website/rendered/docs/tour.md", False),
        ("chalicelib/website/static/site.css", False),
        ("chalicelib/__pycache__/actions.py", False),
        ("tests/test_tour.py", False),
    ],
)
def test_the_fingerprint_covers_exactly_the_inputs_of_the_documents(root: Path, name: str, counts: bool) -> None:
    before = compute_fingerprint(root)
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text("changed", "utf-8")

    assert (compute_fingerprint(root) != before) is counts


def test_renaming_or_removing_an_input_changes_the_fingerprint(root: Path) -> None:
    found = [compute_fingerprint(root)]
    (root / "docs" / "tour.md").rename(root / "docs" / "walk.md")
    found.append(compute_fingerprint(root))
    (root / "docs" / "walk.md").unlink()
    found.append(compute_fingerprint(root))

    assert len(set(found)) == 3


def test_a_file_no_longer_rendered_is_removed(root: Path) -> None:
    update(lambda: {**TEXTS, "docs/old.html": "x"}, root, folder_of(root))
    (root / "docs" / "tour.md").write_text("# Changed", "utf-8")

    update(lambda: TEXTS, root, folder_of(root))

    assert files_of(root) == TEXTS


def test_concurrent_updates_render_only_once(root: Path) -> None:
    begun, go_on, built = threading.Event(), threading.Event(), []

    def build() -> Mapping[str, str]:
        built.append(threading.current_thread().name)
        begun.set()
        assert go_on.wait(PATIENCE_SECONDS)
        return TEXTS

    threads = [threading.Thread(target=update, args=(build, root, folder_of(root))) for _ in range(2)]
    threads[0].start()
    assert begun.wait(PATIENCE_SECONDS)
    threads[1].start()
    go_on.set()
    for thread in threads:
        thread.join(PATIENCE_SECONDS)

    assert len(built) == 1
    assert files_of(root) == TEXTS


def test_a_failed_rendering_does_not_change_the_old_files(root: Path) -> None:
    update(lambda: TEXTS, root, folder_of(root))
    (root / "docs" / "tour.md").write_text("# Changed", "utf-8")

    def build() -> Mapping[str, str]:
        assert files_of(root) == TEXTS
        raise ValueError("a link leads nowhere")

    with pytest.raises(ValueError, match="leads nowhere"):
        update(build, root, folder_of(root))
    assert files_of(root) == TEXTS
    assert not is_current(compute_fingerprint(root), folder_of(root))


def test_rendered_files_appear_only_after_all_files_are_written(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bool] = []
    write = Path.write_text

    def watched(file: Path, *arguments: str, **named: str) -> int:
        seen.append(folder_of(root).exists())
        return write(file, *arguments, **named)

    monkeypatch.setattr(Path, "write_text", watched)

    update(lambda: TEXTS, root, folder_of(root))

    assert seen == [False] * (len(TEXTS) + 1)


def test_files_of_an_interrupted_run_are_removed(root: Path) -> None:
    left = root / "build" / "rendered-new" / "docs"
    left.mkdir(parents=True)
    (left / "half.html").write_text("", "utf-8")

    update(lambda: TEXTS, root, folder_of(root))

    assert files_of(root) == TEXTS
    assert [file.name for file in (root / "build").iterdir()] == ["rendered.lock"]


def test_a_change_during_rendering_causes_a_second_rendering(root: Path) -> None:
    def build() -> Mapping[str, str]:
        (root / "docs" / "tour.md").write_text("# Meanwhile", "utf-8")
        return TEXTS

    update(build, root, folder_of(root))

    assert update(lambda: TEXTS, root, folder_of(root))


@pytest.mark.usefixtures("rendered")
def test_the_command_renders_nothing_for_unchanged_inputs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "build", lambda: pytest.fail("rendered again"))

    assert command.main([]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("rendered")
def test_changed_modules_of_the_sdk_are_written_on_every_run(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []
    texts = iter(["edited during writing", "edited"])
    monkeypatch.setattr(sdk_modules, "texts", lambda: {ROOT / "build" / "module.py": next(texts)})
    monkeypatch.setattr(sdk_modules, "files_without_source", list)

    def write(files: Mapping[Path, str], *_: object, check: bool) -> list[Path]:
        written.extend(files.values())
        return []

    monkeypatch.setattr(sdk_command, "update_files", write)

    for _ in range(2):
        command.main(["--sources"])

    assert written == ["edited during writing", "edited"]


def test_comparing_inputs_needs_only_the_standard_library() -> None:

    program = "import sys; from infra.render import __main__; print(*{name.split('.')[0] for name in sys.modules})"
    done = subprocess.run([sys.executable, "-S", "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)

    assert set(done.stdout.split()) - sys.stdlib_module_names <= {"chalicelib", "infra", "__main__"}
