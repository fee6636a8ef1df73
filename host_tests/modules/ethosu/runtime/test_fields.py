# SPDX-License-Identifier: MIT
"""The reader of FlatBuffers at the end of a file."""

import subprocess
from pathlib import Path

from host_tests.kit import sharing


def test_byte_sized_field_in_the_last_three_bytes_of_a_file(repo):
    runtime = repo / "modules/ethosu/runtime"
    source = Path(__file__).with_name("fields.c")
    command = [
        *("gcc", "-std=gnu11", "-g", "-O1", "-Wall", "-Wextra", "-Werror", f"-I{runtime}"),
        *("-fsanitize=address,undefined", "-fno-sanitize-recover=all"),
        *(source, runtime / "flatbuffer.c", "-o"),
    ]
    result = subprocess.run(
        [sharing.program("fields", command)], capture_output=True, text=True, check=False
    )
    assert (result.returncode, result.stdout + result.stderr) == (0, "")
