"""``.venv/bin/python -m infra.postman``."""

from infra import command


def main() -> int:
    """Run the command. The import is late so that Ctrl-C prints one line from the start."""
    from infra.postman import write

    return write.main()


if __name__ == "__main__":
    command.run(main)
