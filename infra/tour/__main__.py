"""Entry point of ``.venv/bin/python -m infra.tour``."""

from infra import command


def main() -> int:
    """Run the tour. The import is deferred so that Ctrl-C during start-up prints one line."""
    from infra.tour import play

    return play.main()


if __name__ == "__main__":
    command.run(main)
