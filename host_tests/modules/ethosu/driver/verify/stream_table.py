# SPDX-License-Identifier: MIT
"""Parses the table of command streams, verify.txt, and compares it with the verifier."""

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from host_tests.modules.ethosu.driver import cbuild
from host_tests.tools.npu_sim.assembler import CONFIGS, PAYLOAD, Stream

TABLE = Path(__file__).with_name("verify.txt")
PRODUCTS = {
    "u55": "ethos-u55-128",
    "u65": "ethos-u65-512",
    "u85": "ethos-u85-256",
    "u85-1024": "ethos-u85-1024",
}
MASK32 = 0xFFFFFFFF
MAPS = {"ifm": "IFM", "ifm2": "IFM2", "ofm": "OFM"}
OPERATIONS = frozenset(
    ("CONV", "DEPTHWISE", "POOL", "ELEMENTWISE", "RESIZE", "DMA_START", "DMA_WAIT", "STOP")
)


@dataclass
class Test:
    """A test of the table: its configs and numbered lines."""

    configs: list[str] = field(default_factory=list)
    lines: list[tuple[int, str]] = field(default_factory=list)


def read_table() -> tuple[dict[str, Test], dict[str, list[tuple[int, str]]]]:
    """Read tests and blocks of the table, by name."""
    tests: dict[str, Test] = {}
    blocks: dict[str, list[tuple[int, str]]] = {}
    lines: list[tuple[int, str]] = []
    for number, line in enumerate(TABLE.read_text().splitlines(), 1):
        first, _, rest = line.partition(" ")
        if first == "==":
            assert rest not in tests, f"line {number}: {rest} is there twice"
            lines = tests.setdefault(rest, Test()).lines
        elif first == "block":
            lines = blocks.setdefault(rest, [])
        elif first == "on":
            [*tests.values()][-1].configs = rest.split()
        elif line and first != "#":
            lines.append((number, line))
    return tests, blocks


def alternatives(line: str) -> Iterator[str]:
    """Expand {a/b/c} in a line to each alternative; {} repeats the first group's choice."""
    groups = re.findall(r"\{([^}]+)\}", line)
    for turn in range(len(groups[0].split("/")) if groups else 1):
        choice = line.replace("{}", groups[0].split("/")[turn] if groups else "")
        yield re.sub(r"\{([^}]+)\}", lambda group, turn=turn: group[1].split("/")[turn], choice)


def value_of(text: str, **names: int) -> int:
    """Evaluate an expression."""
    return int(eval(text, {"__builtins__": {}}, names))


@dataclass
class Verdict:
    """The verifier's verdict on a stream."""

    name: str
    fields: dict[str, int]
    writes: dict[int, tuple[int, int]]
    message: str


class Verifier:
    """The program of verdict.c."""

    def __init__(self, program: Path) -> None:
        self._process = subprocess.Popen(
            [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        errors = (cbuild.REPO / "modules/ethosu/driver/include/ethosu_errors.def").read_text()
        rows = re.findall(r"^ETHOSU_EXT_ERROR\((\d+), (\w+)", errors, re.MULTILINE)
        self._errors = {0: "ok"} | {-int(number): name for number, name in rows}

    def close(self) -> None:
        """End the program, which must not have found an error itself."""
        self._process.communicate()
        assert self._process.returncode == 0

    def ask(self, config: int, sizes: list[int], words: list[int]) -> Verdict:
        """Verify a stream."""
        assert self._process.stdin and self._process.stdout
        numbers = [config, len(sizes), *sizes, len(words), *words]
        self._process.stdin.write(" ".join(f"{number:x}" for number in numbers) + "\n")
        self._process.stdin.flush()
        answer, _, message = self._process.stdout.readline().partition(" | ")
        assert answer, "the program has ended"
        code, *values = answer.split()
        spans = [tuple(map(int, span.split(":"))) for span in values[4:]]
        return Verdict(
            self._errors[int(code)],
            dict(zip(("found", "expected", "detail", "index"), map(int, values), strict=False)),
            {region: (start, end) for region, (start, end) in enumerate(spans) if end},
            message.strip(),
        )


class Run:
    """A test of the table on one config."""

    def __init__(self, verifier: Verifier, blocks: dict[str, list[tuple[int, str]]], config: str):
        self._verifier = verifier
        self._blocks = blocks
        self._config = config
        self._npu = PRODUCTS.get(config, "ethos-u55-128")
        self._stream = Stream(self._npu)
        self._sizes = [0, 0]
        self._stop = True
        self.verdicts = 0

    def lines(self, lines: list[tuple[int, str]]) -> None:
        """Execute the lines of a test or a block."""
        for number, line in lines:
            only, colon, rest = line.partition(": ")
            if colon and self._config not in only.split():
                continue
            for text in alternatives(rest if colon else line):
                try:
                    self._line(text)
                except AssertionError as wrong:
                    raise AssertionError(f"verify.txt:{number}: {text}: {wrong}") from None

    def _line(self, line: str) -> None:
        statements, arrow, expected = line.partition("->")
        if statements.startswith("sizes"):
            self._sizes = [value_of(text) for text in statements.split()[1:]]
            return
        words, self._stop = self._stream.words.copy(), True
        for statement in statements.split():
            self._append(statement)
        if arrow:
            self._check(
                expected, CONFIGS[self._npu] if self._config in PRODUCTS else value_of(self._config)
            )
            self._stream.words = words
            self.verdicts += 1

    def _append(self, statement: str) -> None:
        name, equals, text = statement.partition("=")
        if not equals and name == "nostop":
            self._stop = False
            return
        if not equals:
            self.lines(self._blocks[name])
            return
        values = [value_of(part) for part in text.split(",")]
        if name in MAPS:
            self._map(MAPS[name], *values)
        elif name == "dma":
            source, target, length = values
            self._stream.set(DMA0_SRC_REGION=0, DMA0_DST_REGION=1)
            self._stream.set(DMA0_SRC=source, DMA0_DST=target, DMA0_LEN=length)
        elif name == "raw":
            self._stream.raw(*values)
        elif name == "branch":
            self._stream.op("BRANCH", *values)
        elif name == "branches":  # in reverse, as each is inserted before the others
            for target in reversed(range(values[0])):
                self._stream.op("BRANCH", 1, 8 * target)
        elif name in OPERATIONS:
            self._stream.op(name, *values)
        else:
            self._stream.set(**{name: values[0]})

    def _map(self, name: str, region: int, base: int, y: int, x: int, c: int) -> None:
        """Return the registers of one tile in NHWC or bricks."""
        registers = dict.fromkeys(("WIDTH0_M1", "HEIGHT0_M1", "HEIGHT1_M1"), 0xFFFF)
        registers |= {"REGION": region, "BASE0": base}
        registers |= {"STRIDE_Y": y & MASK32, "STRIDE_X": x & MASK32, "STRIDE_C": c}
        self._stream.set(**{f"{name}_{part}": value for part, value in registers.items()})

    def _ask(self, config: int, sizes: list[int], words: list[int] | None = None) -> Verdict:
        words = self._stream.words if words is None else words
        return self._verifier.ask(config, sizes, words + [0xFFFF0000] * self._stop)

    def _check(self, expected: str, config: int) -> None:
        expected, _, message = expected.partition('"')
        head, _, writes = expected.partition("writes")
        name, *rest = head.split()
        if name == "all-but":
            self._check_each_needed(config, rest)
            return
        if name == "needs":
            self._sizes = [value_of(text) for text in rest]
            self._check_tight(config)
            name, rest = "ok", []
        verdict = self._ask(config, self._sizes)
        assert verdict.name == name, f"{verdict.name}: {verdict.message}"
        for key, text in zip(rest[::2], rest[1::2], strict=True):
            assert verdict.fields[key] == value_of(text), f"{key} is {verdict.fields[key]}"
        assert message.strip('"') in verdict.message, verdict.message
        if "writes" in expected:
            self._check_writes(verdict, writes.split())

    def _check_tight(self, config: int) -> None:
        for region, size in enumerate(self._sizes):
            if size:
                sizes = [*self._sizes]
                sizes[region] -= 1
                verdict = self._ask(config, sizes)
                assert verdict.name == "REGION_BOUNDS", f"{size - 1} in {region}: {verdict.name}"
                bounds = [verdict.fields[key] for key in ("found", "expected", "detail")]
                assert bounds == [size, size - 1, region], verdict.message

    def _check_writes(self, verdict: Verdict, expected: list[str]) -> None:
        names = {f"size{region}": size for region, size in enumerate(self._sizes)}
        regions = {int(text.partition("=")[0]): text.partition("=")[2] for text in expected}
        assert verdict.writes.keys() == regions.keys(), verdict.writes
        for region, span in regions.items():
            for text, found in zip(span.split(".."), verdict.writes[region], strict=False):
                assert not text or value_of(text, **names) == found, verdict.writes

    def _check_each_needed(self, config: int, unused: list[str]) -> None:
        """Check that the stream needs each register, by leaving each out in turn."""
        words, at = self._stream.words, 0
        commands: list[tuple[int, list[int]]] = []
        while at < len(words):
            code = words[at] & 0xFFFF
            length = 2 if code & PAYLOAD else 1
            commands.append((code, words[at : at + length]))
            at += length
        codes = {Stream(self._npu).set(**{name: 0}).words[0] & 0xFFFF for name in unused}
        registers = {code for code, _ in commands if code >= 0x100}
        assert len(registers) > 5
        for left_out in registers:
            kept = [word for code, part in commands if code != left_out for word in part]
            verdict = self._ask(config, self._sizes, kept)
            expected = ("ok", 0) if left_out in codes else ("COMMAND_UNSET", left_out)
            assert (verdict.name, verdict.fields["found"]) == expected, f"without {left_out:#x}"
