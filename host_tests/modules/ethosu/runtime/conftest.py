# SPDX-License-Identifier: MIT
"""A fixture for the program that damages model files and uses them."""

import functools
import subprocess
from pathlib import Path

import pytest

from host_tests.kit import sharing
from host_tests.modules.ethosu.driver import cbuild

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def damage(tmp_path_factory):
    """Run the program of damage.c: `damage("cut", file)`; returns its output.

    `damage.each({name: file})` loads several files in one process; returns the output for each.
    """

    @functools.cache
    def build(kind: str, *flags: str) -> Path:
        sharing.make("tools/sim_host", "objects", f"SANITIZE={kind}")
        command = [
            *cbuild.sanitized("address", f"-I{HERE / 'describe'}", *flags),
            *(HERE / "damage.c", HERE / "board_none.c", HERE / "exercise.c"),
            HERE / "describe/describe_all.c",
            *sorted((sharing.BUILD / "sim_host" / kind / "modules").rglob("*.o")),
            *(f"-Wl,--wrap=__asan_load{size}" for size in (1, 2, 4, 8, "N")),
            *("-lm", "-o"),
        ]
        return sharing.program("damage", command)

    def start(how: str, paths: list[Path], width: int) -> subprocess.CompletedProcess[str]:
        program = build("address") if width == 64 else build("address32", "-m32")
        return subprocess.run([program, how, *paths], capture_output=True, text=True, check=False)

    def run(how: str, file: Path | bytes, width: int = 64) -> str:
        if not isinstance(file, Path):
            path = tmp_path_factory.mktemp("damage") / "file"
            path.write_bytes(file)
            file = path
        result = start(how, [file], width)
        assert result.returncode == 0, result.stderr[-2000:]
        return result.stdout

    def each(files: dict[str, bytes], width: int = 64) -> dict[str, str]:
        folder = tmp_path_factory.mktemp("each")
        paths = [folder / str(number) for number in range(len(files))]
        for path, content in zip(paths, files.values(), strict=True):
            path.write_bytes(content)
        result = start("load", paths, width)
        lines = result.stdout.splitlines()
        where = [*files, "the end"][len(lines)]
        assert result.returncode == 0, f"at {where}: {result.stderr[-2000:]}"
        return dict(zip(files, lines, strict=True))

    run.each = each
    return run
