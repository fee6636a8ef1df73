# SPDX-License-Identifier: MIT
"""The reader of FlatBuffers at the end of a file."""

from pathlib import Path

from host_tests.kit import sharing
from host_tests.modules.ethosu.driver import cbuild


def test_fields_and_vtables_in_the_last_bytes_of_a_file(repo):
    sources = [
        Path(__file__).with_name("fields.c"),
        repo / "modules/ethosu/runtime/file/flatbuffer.c",
    ]
    program = sharing.program("fields", [*cbuild.sanitized("address"), *sources, "-o"])
    assert cbuild.run([program]) == ""
