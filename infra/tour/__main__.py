"""``.venv/bin/python -m infra.tour``."""

from infra import command


def main() -> int:
    """The tour; imported here, so that Ctrl-C is one line from the first moment."""
    from infra.tour import play

    return play.main()


if __name__ == "__main__":
    command.run(main)
