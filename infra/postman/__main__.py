"""``.venv/bin/python -m infra.postman``."""

from infra import command


def main() -> int:
    """Run the command; the late import lets Ctrl-C print one line from the first moment."""
    from infra.postman import write

    return write.main()


if __name__ == "__main__":
    command.run(main)
