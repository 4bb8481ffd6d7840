"""``.venv/bin/python -m infra.tour``."""

from infra import command


def main() -> int:
    """Run the tour. The import is late so that Ctrl-C prints one line from the start."""
    from infra.tour import play

    return play.main()


if __name__ == "__main__":
    command.run(main)
