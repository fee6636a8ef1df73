# SPDX-License-Identifier: MIT
"""Images with segments outside of a section or of all memories are refused."""

import subprocess
from pathlib import Path

import pytest

from host_tests.kit import sharing

from .conftest import make

SOURCE = """
.section .vectors, "a"
.word 1
.text
.global start
start: bx lr
.section .kept, "aw", %nobits
.space 8
"""
SCRIPT = """
MEMORY {{
    CODE (rx) : ORIGIN = 0x1000, LENGTH = 0x1000
    DATA (rw) : ORIGIN = 0x20000000, LENGTH = 0x100
}}
ENTRY(start)
PHDRS {{ code PT_LOAD{headers}; kept PT_LOAD; far PT_LOAD; }}
SECTIONS {{
    .vectors {start}: {{ *(.vectors) }} > CODE :code
    .text {text}
    .kept (NOLOAD) : {{ *(.kept) }} > DATA :kept
}}
"""
TEXT = ": { *(.text) } > CODE :code"
LOST = '.section .lost, "aR"\n.word 1\n'


def check(tmp_path: Path, headers: str = "", start: str = "", text: str = TEXT) -> str:
    """Link with a linker script; returns the check's output."""
    (tmp_path / "a.s").write_text(SOURCE)
    (tmp_path / "a.ld").write_text(SCRIPT.format(headers=headers, start=start, text=text))
    image, link_map = tmp_path / "a.elf", tmp_path / "a.map"
    command = ["arm-none-eabi-gcc", "-nostdlib", f"-Wl,-T,{tmp_path / 'a.ld'},-Map={link_map}"]
    command += ["-Wl,-z,max-page-size=4096", tmp_path / "a.s", "-o", image]
    sharing.run(command)
    program = sharing.REPO / "firmware/make/segments.py"
    done = subprocess.run(
        ["python3", program, image, link_map], capture_output=True, text=True, check=False
    )
    assert (done.returncode != 0) is bool(done.stderr), done
    return done.stderr


def test_an_image_of_sections_in_memories_is_accepted(tmp_path):
    assert check(tmp_path) == ""


def test_headers_in_a_segment_are_refused(tmp_path):
    """Headers in a segment are refused; binutils 2.44 puts them in front of a section."""
    said = check(tmp_path, headers=" FILEHDR PHDRS", start="0x1100 ")
    assert "the segment at 0x1000 (0x" in said and "has more than its sections, which are" in said


@pytest.mark.parametrize(
    "text",
    ["0x50000000 : { *(.text) } :far", ": AT(0x50000000) { *(.text) } > CODE :far"],
    ids=["runs there", "is loaded there"],
)
def test_a_section_outside_of_the_memories_is_refused(tmp_path, text):
    assert "to 0x50000000) is not in a memory of the linker script" in check(tmp_path, text=text)


def test_the_build_refuses_such_an_image(tmp_path):
    (tmp_path / "lost.s").write_text(LOST)
    image = tmp_path / "firmware.elf"
    done = make(
        f"LINKED_TOO={image}",
        f"LINK_TOO={tmp_path / 'lost.s'} -Wl,--section-start=.lost=0x50000000",
        str(image),
    )
    assert done.returncode != 0 and not image.exists(), done.stdout
    assert "the segment at 0x50000000 (0x4 bytes" in done.stderr, done.stderr
