# SPDX-License-Identifier: MIT
"""The panel flashes over a serial line, and runs a model and a program at a board's prompt."""

import json

import pytest
from ethosu_tools import boards
from ethosu_tools.model import romfs

from ...steps import RUNS, choose
from .own_board import IMAGE, archive, bytes_of, cancel, choose_board, opened_panel, press

GROVE, NPU = 0, "ethos-u55-64"
CONNECTED = "Connected: "
OUTPUT = "document.getElementById('own-output').textContent"
# A board whose NPU computes a bit wrong.
WRONG = """
import sys, ethosu as real
class Wrong:
    def __init__(self, model):
        self.inputs, self.npu, self._model = model.inputs, model.npu, model
    def predict(self, inputs):
        outputs = [bytearray(bytes(each)) for each in self._model.predict(inputs)]
        outputs[0][0] ^= 1
        return outputs
class Module:
    buffer, npus = real.buffer, real.npus
    Model = staticmethod(lambda source: Wrong(real.Model(source)))
sys.modules["ethosu"] = Module
"""


@pytest.fixture
def panel(page):
    return opened_panel(page)


@pytest.fixture
def image(tmp_path):
    (tmp_path / "output.img").write_bytes(IMAGE)
    return tmp_path / "output.img"


def grove(page, **faults):
    """Plug in a board with Himax's boot loader."""
    page.evaluate(
        f"globalThis.board = new HimaxBoard('{NPU}', {json.dumps(faults)});"
        "globalThis.port = new FakePort(board); useSerial(port); 0"
    )


def prompt(page, npu=NPU, first=""):
    """Plug in a board that has the firmware."""
    page.evaluate(
        f"globalThis.board = new PromptBoard('{npu}', {json.dumps(first)});"
        "globalThis.port = new FakePort(board); useSerial(port); board.start()"
    )


def written(page, at=0):
    """Return where in the flash the boot loader wrote, and what."""
    return page.evaluate(f"board.writes[{at}][0]"), bytes_of(page, f"board.writes[{at}][1]")


def filled(data):
    """Fill up to whole blocks, as XMODEM does."""
    return data.ljust(-(-len(data) // 128) * 128, b"\x1a")


@pytest.mark.parametrize(
    ("faults", "again"),
    [({}, ""), ({"drop": 133 * 3 + 40}, " (1 blocks twice)"), ({"reject": 3}, " (3 blocks twice)")],
    ids=str,
)
def test_the_board_has_the_image_and_starts(panel, image, faults, again):
    grove(panel, **faults)
    panel.evaluate(
        "globalThis.said = []; { const status = document.getElementById('own-status');"
        "new MutationObserver(() => said.push(status.textContent))"
        ".observe(status, {childList: true}); } 0"
    )
    choose_board(panel, GROVE, image)
    assert press(panel, "flash").startswith(CONNECTED)
    assert written(panel) == (0, filled(IMAGE))
    said = panel.evaluate("said")
    assert f"Flashed {len(IMAGE):,} bytes{again}. The board starts …" in said
    assert panel.evaluate("document.getElementById('own-progress').max") == len(filled(IMAGE)) / 128


@pytest.mark.parametrize(
    ("faults", "message"),
    [
        ({"reject": 99}, "rejected block 1 of 25 10 times: the line is bad"),
        ({"silent": 7}, "fell silent at block 7 of 25"),
        ({"unplug": 7}, "the board was unplugged, or its port went away"),
        ({"cancel": 7}, "cancelled the transfer at block 7 of 25"),
    ],
    ids=str,
)
def test_after_a_failure_the_next_try_works(panel, image, faults, message):
    grove(panel, **faults)
    choose_board(panel, GROVE, image)
    said = press(panel, "flash")
    assert said.startswith("It failed: ") and message in said
    assert panel.evaluate("[board.writes.length, port.baud]") == [0, None], "the port is open still"
    panel.evaluate("port.plugged = true; board.faults = {}; 0")
    assert press(panel, "flash").startswith(CONNECTED)
    assert written(panel) == (0, filled(IMAGE))


def test_a_board_that_says_nothing_is_named(panel, image):
    grove(panel, mute=True)
    choose_board(panel, GROVE, image)
    said = press(panel, "flash")
    assert "the boot loader did not answer; it sent nothing" in said and "reset button" in said
    assert panel.evaluate("port.baud") is None


@pytest.mark.parametrize("faults", [{"press": 3}, {"press": 3, "silent": 3}], ids=str)
def test_flashing_can_be_cancelled_and_done_again(panel, image, faults):
    """While the boot loader answers, and while it does not."""
    grove(panel, **faults)
    choose_board(panel, GROVE, image)
    assert press(panel, "flash").startswith(
        "Cancelled: the firmware on the board may be incomplete"
    )
    assert panel.evaluate("[board.cancelled, board.blocks, port.baud]") == [True, 3, None]
    panel.evaluate("board.faults = {}; 0")
    assert press(panel, "flash").startswith(CONNECTED)
    assert written(panel) == (0, filled(IMAGE))


def test_waiting_for_the_boot_loader_can_be_cancelled(panel, image):
    grove(panel, deaf=True)
    choose_board(panel, GROVE, image)
    assert cancel(panel, "board.state === 'firmware'") == "Cancelled: nothing was written."
    assert panel.evaluate("[board.cancelled, port.baud]") == [False, None]


@pytest.mark.parametrize("own", [True, False])
def test_the_files_of_rom_follow_the_image(panel, image, tmp_path, own):
    """They are the page's, or those of a release."""
    files = {"a.txt": b"text" * 100}
    expected = romfs.build(files)
    (tmp_path / "a.txt").write_bytes(files["a.txt"])
    grove(panel)
    zipped = archive(
        tmp_path / "r.zip", "GROVE_VISION_AI_V2", firmware_elf=b"\x7fELF", rom_img=expected
    )
    choose_board(panel, GROVE, image, *([] if own else [zipped]))
    if own:
        panel.choose_file("#file", tmp_path / "a.txt")
        panel.wait_for("document.getElementById('status').textContent.includes('/rom/a.txt')")
        panel.evaluate("document.getElementById('own-rom').checked = true")
    assert press(panel, "flash").startswith(CONNECTED)
    assert written(panel) == (0, filled(IMAGE))
    place = boards.load("GROVE_VISION_AI_V2").romfs.start - 0x3A000000
    assert written(panel, 1) == (place, filled(expected))


def test_a_wrong_file_is_not_sent(panel, tmp_path):
    (tmp_path / "firmware.img").write_bytes(b"\x7fELF" * 40)
    (tmp_path / "large.img").write_bytes(b"ckBS" + bytes(1 << 20))
    (tmp_path / "broken.zip").write_bytes(b"PK\3\4")
    other = archive(tmp_path / "other.zip", "OPENMV_AE3-M55_HP", firmware_bin=b"")
    lacks = archive(tmp_path / "lacks.zip", "GROVE_VISION_AI_V2", firmware_elf=b"", rom_img=b"")
    grove(panel)
    for path, message in (
        (tmp_path / "firmware.img", "firmware.img was not sent: it is no image of Himax's tool"),
        (tmp_path / "large.img", "it has 1048580 bytes, but the board takes at most 1048576"),
        (tmp_path / "broken.zip", "found none"),
        (other, "other.zip is for OPENMV_AE3-M55_HP, not for GROVE_VISION_AI_V2"),
        (lacks, "found none. It needs output.img, which Himax's tool makes of firmware.elf"),
    ):
        choose_board(panel, GROVE, path)
        assert message in press(panel, "flash")
    assert panel.evaluate("board.state") == "off"


def test_no_port_and_no_way_to_ask_for_one(panel, image):
    choose_board(panel, GROVE, image)
    panel.evaluate("useSerial(null); 0")
    assert press(panel, "flash") == "No board was chosen."
    panel.evaluate("Object.defineProperty(navigator, 'serial', {value: undefined}); 0")
    assert "use Chrome or Edge on a computer, or `ethosu flash`" in press(panel, "connect")


@pytest.mark.parametrize("right", [True, False])
def test_both_boards_compute_the_same_or_it_is_said(panel, ready, small_models, right):
    assert choose(panel, ready(small_models["small_cnn"])) == RUNS
    prompt(panel, "ethos-u55-128", "" if right else WRONG)
    assert press(panel, "connect").startswith(CONNECTED)
    said = press(panel, "compare")
    assert said == (
        "Both boards computed the same 10 bytes."
        if right
        else "1 of 10 bytes of the output differ from the emulated board's."
    )
    rows = "[...document.getElementById('own-results').tBodies[0].rows]"
    emulated, own = panel.evaluate(f"{rows}.map(row => row.cells[3].textContent)")
    assert (emulated == own) == right


def test_a_board_with_another_npu_says_so_and_can_go_on(panel, ready, small_models):
    assert choose(panel, ready(small_models["small_cnn"])) == RUNS
    prompt(panel, "ethos-u85-256")
    press(panel, "connect")
    assert "ethos-u55-128" in press(panel, "compare")
    prompt(panel, "ethos-u55-128")
    assert press(panel, "connect").startswith(CONNECTED)
    assert press(panel, "compare").startswith("Both boards computed the same")


def test_a_program_runs_on_the_board(panel):
    prompt(panel)
    assert press(panel, "connect").startswith(CONNECTED)
    program = (
        "for i in range(300):\n    print('größe', i)\n" + "x = 'long'\n" * 400 + "print('end')\n"
    )
    panel.evaluate(f"document.getElementById('script').value = {json.dumps(program)}")
    assert press(panel, "run") == "The program ended."
    assert panel.evaluate(OUTPUT) == "".join(f"größe {i}\n" for i in range(300)) + "end\n"
    panel.evaluate("document.getElementById('script').value = 'print(1)\\n1 / 0'")
    assert "ZeroDivisionError: divide by zero" in press(panel, "run")
    assert panel.evaluate(OUTPUT) == "1\n"
    assert press(panel, "connect").startswith(CONNECTED)
    panel.evaluate("document.getElementById('script').value = '1 1\\n' + '# long\\n'.repeat(400)")
    assert "SyntaxError" in press(panel, "run")


def test_unplugged_at_the_prompt(panel):
    prompt(panel)
    press(panel, "connect")
    panel.evaluate("port.unplug(); 0")
    assert "the board was unplugged" in press(panel, "run")
    panel.evaluate("port.plugged = true; 0")
    assert press(panel, "connect").startswith(CONNECTED)
