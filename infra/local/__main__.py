"""``.venv/bin/python -m infra.local``."""

from infra import command


def main() -> int:
    """The stack; imported here, so that Ctrl-C is one line from the first moment."""
    from infra.local import stack

    return stack.main()


if __name__ == "__main__":
    command.run(main)
