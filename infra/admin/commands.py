"""The program with all its commands; a process that runs one command builds only what it needs."""

from __future__ import annotations

from infra.admin.builder import build_program

program = build_program()
