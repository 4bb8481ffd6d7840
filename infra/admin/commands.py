"""The program with all commands. Each run of a command builds only the required parts."""

from __future__ import annotations

from infra.admin.builder import build_program

program = build_program()
