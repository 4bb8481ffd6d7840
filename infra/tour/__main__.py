"""``.venv/bin/python -m infra.tour``."""

from infra import command


def main() -> int:
    """Run the tour; the late import lets Ctrl-C print one line from the first moment."""
    from infra.tour import play

    return play.main()


if __name__ == "__main__":
    command.run(main)
