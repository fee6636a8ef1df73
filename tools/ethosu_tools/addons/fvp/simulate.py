# SPDX-License-Identifier: MIT
"""Runs firmware as an FVP would, with the FVP's UARTs, limits, and final output."""

import argparse
import contextlib
import os
import signal
import socket
import struct
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from ...base import files
from ...base.errors import BoardError, InputError, ToolError, UsageError
from ...link.emulator import emulator_run, firmware_run, qemu
from ...link.emulator.emulator_log import EmulatorLog
from ...link.emulator.emulator_run import Limits, Outcome, Reason, Stream
from . import command_line
from .command_line import Data, Dump, complain
from .models import MODELS, Model
from .parameters import Settings, file_lines, listing

_LINE = 256  # the firmware gets at most this many characters of a command line
# Reasons to stop that scripts, such as ExecuTorch's run_fvp.sh, search in the output.
_STOPPED = {
    Reason.PROCESSOR_TIME: "CPU time has been exceeded.",
    Reason.SIMULATED_TIME: "Simulated time has been exceeded.",
}
# Lines on stderr that begin like this do not come from the firmware.
_PLUGIN = "ethosu: "
_QEMU = ("qemu", "Only modules from the same build")
# An ELF header and one program header (System V ABI): 32 bits, little-endian, ET_EXEC, EM_ARM.
_ELF = struct.Struct("<16s2H5I6H8I")
_ELF_START = (b"\x7fELF\1\1\1", 2, 40, 1, 0, 52, 0, 0, 52, 32, 1, 0, 0, 0)
_ENDED = "\nInfo: /OSCI/SystemC: Simulation stopped by user.\n"


@dataclass(frozen=True)
class _Uart:
    """Where a UART's output goes, and its terminal, if any."""

    number: int
    stream: Stream | None  # to a file; None: to stdout, or nowhere
    on_stdout: bool
    terminal: socket.socket | None
    raw: bool


def main(name: str, argv: Sequence[str] | None = None) -> int:
    """Run the program of this name; returns its exit code."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        args = command_line.parser(name).parse_intermixed_args(argv)
        return _simulate(MODELS[name], args)
    except ToolError as error:
        complain(name, f"error: {error}")
        return 1
    except BrokenPipeError:
        # The reader of the output has ended, so Python must not write the rest at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:  # such as a full disk
        complain(name, f"error: {error.strerror}")
        return 1
    except KeyboardInterrupt:
        return 130


def _simulate(model: Model, args: argparse.Namespace) -> int:
    if args.version:
        print(command_line.release(model.name))
        return 0
    if args.list_params:
        with contextlib.ExitStack() as resources:
            text = f"{listing(model)}\n".encode()
            file = _open(args.output, "--output", resources) if args.output else sys.stdout.buffer
            file.write(text)
            file.flush()
        return 0
    settings = _settings(model, args)
    images = command_line.images(args)
    _check_files(images, args.data)
    _keep_inputs(model, settings, args, images)
    with contextlib.ExitStack() as resources:
        out = sys.stdout.buffer

        def say(text: str) -> None:
            if not args.quiet:
                out.write(text.encode())
                out.flush()

        uarts = [_uart(settings, number, resources, say) for number in model.uarts]
        main_stream = _stdout(settings, uarts, out)
        streams = [main_stream, *(uart.stream for uart in uarts if uart.stream)]
        log = resources.enter_context(EmulatorLog())
        dumps = [(dump, _open(dump.file, "--dump", resources)) for dump in args.dump]
        sockets = [uart.terminal.fileno() for uart in uarts if uart.terminal]

        data = [_elf_of(row, resources) for row in args.data]

        def command(paths: Sequence[str]) -> list[str]:
            plugin = [_dump(dump, file) for dump, file in dumps]
            cwd = "{cpu}.semihosting-cwd"
            plugin += firmware_run.semihosting_files(Path(settings.get(cwd)), settings.name(cwd))
            words = _qemu(model, settings, [*images, *data], plugin, f"/dev/fd/{log.fileno()}")
            return [*words, *_serial_ports(uarts, paths), *_semihosting(settings, images)]

        outcome = emulator_run.run(
            command,
            streams,
            _limits(model, args),
            files=[*sockets, log.fileno(), *(file.fileno() for _, file in dumps)],
            in_order=bool(dumps),
        )
        code = _end(model, args, outcome, main_stream, say, qemu.in_plain_words(log.text()))
        for dump, _ in dumps:
            if (size := dump.file.stat().st_size) != dump.size and dump.file.is_file():
                raise BoardError(f"--dump {dump.file}: {size} of {dump.size} bytes were written")
        return code


def _settings(model: Model, args: argparse.Namespace) -> Settings:
    """Read all parameters: those of the command line override those of files."""

    def warn(text: str) -> None:
        if args.strict:
            raise UsageError(text)
        complain(model.name, f"warning: {text}")

    settings = Settings(model, warn)
    for sentence in command_line.lacking(args):
        warn(sentence)
    for path in args.config_file:
        for line in file_lines(command_line.read_text(path)):
            settings.set(line)
    for text in args.parameter:
        settings.set(text)
    others = [word for word in settings.get("{npu}.extra_args").split() if word != "--fast"]
    if others:
        warn(f"{settings.name('{npu}.extra_args')}: {others[0]} has no effect")
    line = settings.get("{cpu}.semihosting-cmd_line")
    if len(line) > _LINE:
        warn(
            f"{settings.name('{cpu}.semihosting-cmd_line')} has {len(line)} characters, of which "
            f"the first {_LINE} reach the firmware"
        )
    if args.cyclelimit:
        complain(model.name, f"warning: --cyclelimit counts time at {model.clock_mhz} MHz")
    return settings


def _check_files(images: Sequence[Path], data: Sequence[Data]) -> None:
    for image in images:
        try:
            with image.open("rb") as file:
                is_hex = file.read(1) == b":"
        except OSError as error:
            raise InputError(f"{image}: {error.strerror}") from None
        if not is_hex:
            qemu.check_elf(image)
    for row in data:
        if not row.file.is_file():
            raise InputError(f"{row.file} is no file")


def _keep_inputs(
    model: Model, settings: Settings, args: argparse.Namespace, images: Sequence[Path]
) -> None:
    """Raise UsageError if an output would overwrite an image or other data."""
    uarts = [f"{{board}}.uart{number}.out_file" for number in model.uarts]
    outputs = [(settings.name(name), settings.get(name)) for name in uarts]
    inputs = [*images, *(row.file for row in args.data), *args.config_file]
    for name, path in [*outputs, *(("--dump", str(dump.file)) for dump in args.dump)]:
        if path and path != "-":
            files.keep(inputs, [(name, Path(path))])


def _limits(model: Model, args: argparse.Namespace) -> Limits:
    cycles = args.cyclelimit and args.cyclelimit / (model.clock_mhz * 1e6)
    limits = [limit for limit in (args.simlimit, cycles) if limit]
    return Limits(processor_s=args.timelimit, simulated_s=min(limits, default=None))


# --- UARTs --------------------------------------------------------------------------------------


def _uart(
    settings: Settings,
    number: int,
    resources: contextlib.ExitStack,
    say: Callable[[str], None],
) -> _Uart:
    uart, terminal = f"{{board}}.uart{number}", f"{{board}}.telnetterminal{number}"
    path = settings.get(f"{uart}.out_file")
    started, port = (
        settings.given(f"{terminal}.{name}") for name in ("start_telnet", "start_port")
    )
    listening = None
    if started or port is not None:
        listening = resources.enter_context(_listen(settings.get(f"{terminal}.start_port")))
        if not settings.get(f"{terminal}.quiet"):
            found = listening.getsockname()[1]
            say(f"telnetterminal{number}: Listening for serial connection on port {found}\n")
    mode = settings.get(f"{terminal}.mode")
    if mode not in ("raw", "telnet"):
        raise UsageError(f"{settings.name(terminal)}.mode={mode}: expected raw or telnet")
    alone = number == 0 and started is None and listening is None
    on_stdout = path == "-" or (alone and not path)
    ends: dict[str, Any] = _ends(settings, [number])
    stream = None
    if path and path != "-":
        file = _open(Path(path), f"{settings.name(uart)}.out_file", resources)
        stream = Stream(file.write, **ends)
    elif not on_stdout and any(ends.values()):
        stream = Stream(lambda data: None, **ends)
    return _Uart(number, stream, on_stdout, listening, mode == "raw")


def _open(path: Path, name: str, resources: contextlib.ExitStack) -> BinaryIO:
    """Open a file to write; errors name the parameter or option that asked for it."""
    try:
        return resources.enter_context(path.open("wb", buffering=0))
    except OSError as error:
        raise UsageError(f"{name}={path}: {error.strerror}") from None


def _ends(settings: Settings, numbers: Iterable[int]) -> dict[str, Any]:
    """Return what in the output of these UARTs ends the run."""
    uarts = [f"{{board}}.uart{number}" for number in numbers]
    tags = [settings.get(f"{uart}.shutdown_tag") for uart in uarts]
    return {
        "eot": any(settings.get(f"{uart}.shutdown_on_eot") for uart in uarts),
        "texts": [tag for tag in tags if tag],
    }


def _stdout(settings: Settings, uarts: Iterable[_Uart], out: BinaryIO) -> Stream:
    """Return QEMU's stdout, with the output of semihosting and of UARTs that print there."""

    def pass_on(data: bytes) -> None:
        out.write(data)
        out.flush()

    numbers = [uart.number for uart in uarts if uart.on_stdout]
    return Stream(pass_on, **_ends(settings, numbers))


def _serial_ports(uarts: Iterable[_Uart], paths: Sequence[str]) -> list[str]:
    """Return QEMU's options for UARTs, which write their streams to `paths`."""
    words, numbers, free = [], {uart.number: uart for uart in uarts}, list(paths)
    for number in range(max(numbers) + 1):
        uart = numbers.get(number)
        if uart is None:
            words += ["-serial", "null"]
            continue
        log = "/dev/stdout" if uart.on_stdout else free.pop(0) if uart.stream else None
        device = f"null,id=uart{number}"
        if uart.terminal:
            telnet = "off" if uart.raw else "on"
            device = f"socket,id=uart{number},fd={uart.terminal.fileno()},server=on,wait=off"
            device += f",telnet={telnet}"
        device += f",logfile={log}" if log else ""
        words += ["-chardev", device, "-serial", f"chardev:uart{number}"]
    return words


def _listen(port: int) -> socket.socket:
    """Listen at a port of this machine, or at the next free one."""
    for number in range(port, 1 << 16):
        listening = socket.socket()
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind(("127.0.0.1", number))
            listening.listen(1)
        except OSError:
            listening.close()
            continue
        return listening
    raise UsageError(f"no free port from {port} on")


# --- QEMU ---------------------------------------------------------------------------------------


def _qemu(
    model: Model, settings: Settings, images: Sequence[Path], plugin: Sequence[str], log: str
) -> list[str]:
    """Return QEMU's command without UARTs and semihosting; `log` is for QEMU's messages."""
    macs = settings.get("{npu}.num_macs")
    if macs not in (sizes := model.sizes()):
        known = ", ".join(map(str, sizes))
        raise UsageError(f"{settings.name('{npu}.num_macs')}={macs}: expected one of {known}")
    plugin = [*plugin, f"npu={model.npu}-{macs}", "page=none", "stderr=stdout"]
    plugin += _memories(model, settings)
    heap = ("heap_base", "heap_limit", "stack_base", "stack_limit")
    values = [settings.get(f"{{cpu}}.semihosting-{name}") for name in heap]
    plugin += [f"heapinfo={':'.join(f'{value:x}' for value in values)}"]
    vectors = settings.given("{cpu}.INITSVTOR")
    if vectors is None:
        vectors = settings.get("{sse}.iotss3_systemcontrol.INITSVTOR_RST")
    plugin += [f"vectors={vectors:#x}"] if vectors != model.vectors else []
    program = qemu.find_qemu()
    words = [program, *qemu.machine_options(model.machine, model.board, plugin)]
    for image in images:
        words += ["-device", f"loader,file={qemu.quoted(image.absolute())}"]
    return [*words, *qemu.log_options(program), "-D", log]


def _elf_of(data: Data, resources: contextlib.ExitStack) -> Path:
    """Wrap bytes in an ELF file, since QEMU loads raw files only below the size of its RAM."""
    try:
        content = data.file.read_bytes()
    except OSError as error:
        raise InputError(f"{data.file}: {error.strerror}") from None
    if data.address + len(content) > 1 << 32:
        raise InputError(
            f"{data.file} has {len(content)} bytes, more than there are from {data.address:#x} on"
        )
    folder = Path(resources.enter_context(tempfile.TemporaryDirectory(prefix="ethosu-data-")))
    elf = folder / data.file.name
    # A program header: PT_LOAD, right after the headers, PF_R, without an alignment.
    segment = 1, _ELF.size, data.address, data.address, len(content), len(content), 4, 1
    elf.write_bytes(_ELF.pack(*_ELF_START, *segment) + content)
    return elf


def _dump(dump: Dump, file: BinaryIO) -> str:
    """Return the plugin's option that writes memory to a file at the end."""
    return f"dump={file.fileno()}:{dump.address:x}:{dump.size:x}"


def _memories(model: Model, settings: Settings) -> list[str]:
    """Return the plugin's options for memories with other sizes than the board's."""
    # A code gives the size of a TCM in KiB (Arm 101051, Cortex-M55 TRM: CFGITCMSZ).
    sizes = {name: 1 << settings.get(f"{{cpu}}.CFG{name}SZ") - 1 for name in ("ITCM", "DTCM")}
    if "SSRAM" in model.memories:
        sizes["SSRAM"] = settings.get("{board}.FPGA_SRAM_SIZE") * 1024
        sizes["ISRAM"] = settings.get("{sse}.NUMVMBANK") * settings.get("{sse}.VM_BANK_SIZE")
    return [f"size={name}:{size}" for name, size in sizes.items() if size != model.memories[name]]


def _semihosting(settings: Settings, images: Sequence[Path]) -> list[str]:
    line = settings.get("{cpu}.semihosting-cmd_line")[:_LINE]
    name = images[0].name if images else ""
    enabled = settings.get("{cpu}.semihosting-enable")
    words = firmware_run.semihosting(firmware_run.OUT, [line or name], enabled=enabled)
    return [*(firmware_run.OUTPUT if enabled else []), *words]


# --- The end ------------------------------------------------------------------------------------


def _end(
    model: Model,
    args: argparse.Namespace,
    outcome: Outcome,
    stream: Stream,
    say: Callable[[str], None],
    log: str,
) -> int:
    """Print an FVP's final output; returns the exit code."""
    if args.verbose:
        sys.stderr.write(outcome.log + log)
    code = 0
    if outcome.reason is Reason.EXIT:
        try:
            code = firmware_run.exit_code(outcome)
        except BoardError as error:
            last = f"; {qemu.summarise_log(log, 3)}" if log else ""
            raise BoardError(f"{error}; {firmware_run.last_output(stream)}{last}") from None
    # Show the plugin's messages only with an exit code, which they may explain.
    hidden = _QEMU if code else (*_QEMU, _PLUGIN)
    own = [line for line in outcome.log.splitlines() if not line.startswith(hidden)]
    if own and not args.verbose:
        sys.stderr.write("\n".join([*own, ""]))
    if outcome.reason in _STOPPED:
        say(f"\nInfo: Simulation is stopping. Reason: {_STOPPED[outcome.reason]}\n")
    say(_ENDED)
    if args.stat:
        say(_statistics(model, outcome))
    return code


def _statistics(model: Model, outcome: Outcome) -> str:
    """Format the times; the firmware's clock runs at the speed of the host's."""
    rows = {
        "Simulated time": outcome.wall_s,
        "User time": outcome.user_s,
        "System time": outcome.system_s,
        "Wall time": outcome.wall_s,
    }
    lines = [f"{name:40}: {seconds:.6f}s" for name, seconds in rows.items()]
    return "\n".join([f"\n--- {model.name} statistics: ".ljust(79, "-"), *lines, "-" * 79, ""])
