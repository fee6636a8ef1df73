# SPDX-License-Identifier: MIT
"""The commands of the page on PyTorch."""

import shlex
import sys
from pathlib import Path

import numpy as np
import pytest
from ethosu_tools import cli

from host_tests.kit import pages
from host_tests.modules.ethosu.executorch import made

from . import program_rows

PYTORCH = "modules/ethosu/executorch/pytorch.md"


@pytest.fixture
def exporter(board_npu, raw, small_models, tmp_path):
    """Stand-in for a Python with ExecuTorch; the slow tests of pages run the real one."""
    (spotter,) = program_rows.of_pages(small_models["small_cnn"], raw(board_npu)).values()
    (tmp_path / "ready").write_bytes(spotter)
    np.savez(tmp_path / "samples.npz", **made.samples(small_models["small_cnn"]))
    path = tmp_path / "python"
    path.write_text(
        f"#!{sys.executable}\nimport json, shutil, sys\n"
        f"if sys.argv[1] != '-c':\n"
        f"    options = json.loads(sys.argv[2])\n"
        f"    shutil.copy({str(tmp_path / 'ready')!r}, options['output'])\n"
        f"    shutil.copy({str(tmp_path / 'samples.npz')!r}, options['samples'])\n"
    )
    path.chmod(0o755)
    return str(path)


def test_commands_of_the_page_on_pytorch(exporter, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("kws.py").write_text(pages.file(PYTORCH, "kws.py"))
    commands = [block for block in pages.blocks(PYTORCH) if block.language == "sh"]
    lines = [line for block in commands for line in block.text.splitlines()]
    assert len(lines) == 8
    for line in lines:
        words = shlex.split(line)[1:]
        if words[0] == "compile":
            words += ["--python", exporter]
        if words[0] == "deploy":
            words[words.index("--on") :] = ["-o", "rom.img"]
        assert cli.main(words) == 0, capsys.readouterr().err
    assert "get_labels" in capsys.readouterr().out
