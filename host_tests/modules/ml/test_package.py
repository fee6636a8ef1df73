# SPDX-License-Identifier: MIT
"""The package's file lists are complete, and mip can install them."""

import json
import subprocess
import sys

from ethosu_tools.boards.setup import emulated
from ethosu_tools.link.board import QemuBoard
from ethosu_tools.link.emulator.qemu import Machine

from host_tests.kit.browser.serve import serve


def test_mip_gets_every_file(repo):
    folder = repo / "modules/ml"
    listed = json.loads((folder / "package.json").read_text())["urls"]
    there = sorted(str(path.relative_to(folder)) for path in (folder / "ml").rglob("*.py"))
    assert sorted(source for _, source in listed) == there
    assert all(target == source for target, source in listed)


def test_mip_installs_it_from_a_file_server(board_npu, repo):
    """mip installs the package, and the board uses it instead of the frozen one."""
    with serve(repo / "modules/ml") as server, Machine(emulated(npu=board_npu)) as machine:
        address = f"http://127.0.0.1:{server.server_port}/package.json"
        command = [sys.executable, "-m", "mpremote", "connect", machine.port, "mip", "install"]
        done = subprocess.run(
            [*command, "--target", "/lib", address],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        with QemuBoard(machine) as board:
            board.exec(
                "import sys\nsys.path[:] = ['/lib', '.frozen']\nimport ml\n"
                "import ml.postprocessing.edgeimpulse, ml.postprocessing.ultralytics"
            )
            assert board.eval("ml.__file__") == "/lib/ml/__init__.py"
            for path in (repo / "modules/ml").rglob("ml/**/*.py"):
                name = f"/lib/{path.relative_to(repo / 'modules/ml')}"
                assert board.read_file(name) == path.read_bytes()


def test_it_is_frozen_in_and_works_without_ulab(board):
    board.exec("import ml\nimport ml.postprocessing.edgeimpulse, ml.postprocessing.ultralytics")
    assert board.eval("ml.Model.__name__") == "Model"
