"""A simulation of Lambda that calls one handler with events, with only the unpacked packages on the path.

Run this file without site-packages: ``python -I -S -B runtime.py CODE LAYER HANDLER ANSWERS``. Standard input is a JSON
array of the events. The script writes the responses and the loaded files to the file ``ANSWERS``.
"""

import importlib
import json
import sys
from pathlib import Path


class Context:
    function_name = "rehearsed"
    function_version = "$LATEST"
    invoked_function_arn = "arn:aws:lambda:eu-west-1:123456789012:function:rehearsed"
    memory_limit_in_mb = 512
    aws_request_id = "7c9a5b10-0d0e-4e55-8c39-7c7a8a2b0c11"

    def get_remaining_time_in_millis(self) -> int:
        return 29_000


def main(code: str, layer: str, handler: str, answers: str) -> None:
    sys.path[:0] = [code, layer]
    module, _, name = handler.rpartition(".")
    function = getattr(importlib.import_module(module), name)
    made = [function(event, Context()) for event in json.load(sys.stdin)]
    files = sorted(file for each in list(sys.modules.values()) if (file := getattr(each, "__file__", None)))
    version = importlib.import_module("botocore").__version__  # which few handlers load
    Path(answers).write_text(json.dumps({"answers": made, "files": files, "botocore": version}))


if __name__ == "__main__":
    main(*sys.argv[1:])
