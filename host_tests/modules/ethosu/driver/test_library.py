# SPDX-License-Identifier: MIT
"""Other firmware uses the library with CMake, a static archive and Arm's headers only."""

import json
import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from ethosu_tools.model import tflite
from ethosu_tools.sim.oracle import Oracle

from host_tests.kit import sharing
from host_tests.modules.ethosu.driver import cbuild
from host_tests.modules.ethosu.driver.streams import npu_calls

DRIVER = cbuild.REPO / "modules/ethosu/driver"
TARGET = Path(__file__).parent / "target"
CPU = cbuild.TARGET[1:]
TOOLCHAIN = f"""
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_C_COMPILER arm-none-eabi-gcc)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_C_FLAGS_INIT "{" ".join(CPU)}")
"""
NPUS = ("ethos-u55-128", "ethos-u65-256", "ethos-u85-256")

# This is ExecuTorch's copy hook; all other names are from Arm's headers, or have our prefixes.
FOREIGN = {"arm_ethos_io_memcpy"}
OWN = "ethosu_ext_"


def build(folder: Path, *options: str, source: Path = DRIVER) -> Path:
    """Configure and build with CMake; returns the archive."""
    configure(folder, *options, source=source)
    cbuild.run(["cmake", "--build", folder / "build", "-j2"])
    return folder / "build/libethosu_core_driver.a"


def configure(folder: Path, *options: str, source: Path) -> None:
    """Let CMake write the commands of a build."""
    toolchain = folder / "toolchain.cmake"
    toolchain.write_text(TOOLCHAIN)
    command = ["cmake", "-S", source, "-B", folder / "build", "-DCMAKE_BUILD_TYPE=MinSizeRel"]
    command += ["-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", f"-DCMAKE_TOOLCHAIN_FILE={toolchain}"]
    cbuild.run([*command, *options])


OPTIONS = {
    "as it comes": [],
    "U55 alone, no log, time-out": [
        "-DETHOSU_TARGET_NPU_CONFIG=ethos-u55-128",
        *("-DETHOSU_INFERENCE_TIMEOUT=5", "-DETHOSU_LOG_ENABLE=OFF"),
    ],
    "U85 alone, no log": ["-DETHOSU_TARGET_NPU_CONFIG=ethos-u85-256", "-DETHOSU_LOG_ENABLE=OFF"],
    "no verifier, no log": ["-DETHOSU_VERIFY=OFF", "-DETHOSU_LOG_ENABLE=OFF"],
    "chosen by payload, two payloads, constant": [
        *("-DETHOSU_MULTI_VARIANT=ON", "-DETHOSU_STREAMS=2", "-DETHOSU_CONSTANT_PAYLOADS=ON"),
    ],
}
# These two are for FIGURES.md; together they are the options of LIKE_ZEPHYR.
SLOW = ("U85 alone, no log", "no verifier, no log")
TWO = "chosen by payload, two payloads, constant"

# Limits of the driver's own static memory; handles belong to the program.
RAM_MAX = 140


@pytest.fixture(scope="module")
def archives() -> Callable[[str], Path]:
    """Build the library once for each of OPTIONS, for all processes of a run."""
    files = (DRIVER / name for name in ("CMakeLists.txt", "sources.cmake", "hooks.ld"))
    made_from = (sharing.c_sources(), *files, TOOLCHAIN)

    def archive_of(name: str) -> Path:
        def make(place: Path) -> None:
            place.mkdir()
            for path in build(place.parent, *OPTIONS[name]).parent.glob("*.a"):
                path.rename(place / path.name)

        folder = sharing.cached("library", ("library", *made_from, *OPTIONS[name]), make)
        return folder / "libethosu_core_driver.a"

    return archive_of


@pytest.fixture(scope="module")
def archive(archives) -> Path:
    """Return the archive with all products, in the default configuration."""
    return archives("as it comes")


def linked(archive: Path) -> list[Path]:
    """Return the linker's arguments from CMake for our library, or for Arm's single archive."""
    defaults = archive.with_name("libethosu_core_driver_defaults.a")
    return [DRIVER / "hooks.ld", archive, defaults] if defaults.exists() else [archive]


def c_bytes(data: bytes) -> str:
    """Format an array initialiser."""
    return ", ".join(map(str, data))


@pytest.fixture(scope="module", params=NPUS)
def client(request, archive, compiled, small_models, tmp_path_factory) -> Path:
    """Link the client normally, with a model, its input and the reference's output."""
    model = small_models["small_cnn"]
    folder = tmp_path_factory.mktemp("client")
    return link(folder, archive, request.param, model, compiled(model, request.param))


def link(
    folder: Path,
    archive: Path,
    npu: str,
    model: Path,
    vela: Path,
    *options: str,
    script: Path = TARGET / "client.ld",
) -> Path:
    """Link the client normally with an archive."""
    (call,) = npu_calls(vela)
    (graph,) = tflite.parse(vela.read_bytes())
    at = [graph.tensors[index].offset for index in (graph.inputs[0], graph.outputs[0])]
    oracle = Oracle(model)
    tensor = oracle.inputs[0]
    given = np.random.default_rng(5).integers(-128, 128, tensor.shape).astype(tensor.dtype)
    (wanted,) = oracle.step([given])
    words = ", ".join(f"0x{word:X}u" for word in np.frombuffer(call.payload, np.uint32))
    lines = {
        "PAYLOAD": words,
        "CONSTANTS": c_bytes(call.constants),
        "CONSTANTS_SIZE": call.sizes[0],
        "SCRATCH_SIZE": -(-call.sizes[1] // 32) * 32,
        "FAST_SCRATCH_SIZE": -(-call.sizes[2] // 32) * 32,
        "INPUT": c_bytes(given.tobytes()),
        "OUTPUT": c_bytes(wanted.tobytes()),
        "INPUT_AT": at[0],
        "OUTPUT_AT": at[1],
    }
    header = "".join(f"#define CLIENT_{name} {value}\n" for name, value in lines.items())
    (folder / "client_model.h").write_text(header)
    flags = [*CPU, "-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", f"-I{DRIVER}/include"]
    flags += [*options, f"-I{folder}", "-nostartfiles", "-specs=nano.specs", "-specs=nosys.specs"]
    flags += ["-Wl,--gc-sections", "-Wl,--no-warn-rwx-segments", "-T", str(script)]
    program = folder / "client.elf"
    files = [TARGET / "client.c", *linked(archive)]
    cbuild.run(["arm-none-eabi-gcc", *flags, "-o", program, *files])
    program.with_suffix(".npu").write_text(npu)
    return program


def run(program: Path, seed: int = 0) -> dict[str, int]:
    """Run the client on QEMU with its NPU and instruction-based time."""
    sharing.make("tools/qemu_plugin")
    npu = program.with_suffix(".npu").read_text()
    plugin = f"{cbuild.REPO}/build/qemu_plugin/libethosu_qemu.so,npu={npu},timing=model"
    options = ["-icount", "shift=3,sleep=off", "-plugin", plugin, "-seed", str(seed)]
    return cbuild.numbers(program, *options)


def test_a_client_of_arms_interface_gets_exact_results(client, capsys) -> None:
    """A client links without --whole-archive and board, reads Arm's structs, and is exact."""
    found = run(client)
    with capsys.disabled():
        print(f"\n{client.with_suffix('.npu').read_text()}: {found}")
    assert found["init"] == found["failed"] == found["wrong"] == 0
    assert found["results_ok"] == found["seen"] == 5
    assert found["events"] == (171 if "u85" in client.with_suffix(".npu").read_text() else 74)
    assert found["semaphores_lost"] <= 1  # regardless of the number of initialisations
    assert found["ticks"] < found["first_ticks"]  # verified once


def test_a_client_that_spins_in_wfe_takes_the_same_time_again(client) -> None:
    """A client whose WFE does not wait, as in QEMU, counts the NPU's time, not the host's."""
    assert run(client) == run(client)


def test_no_inference_hangs_without_clock_and_interrupt(archives, compiled, small_models, tmp_path):
    """Without interrupt and clock, each inference still ends in time."""
    archive, model = archives("U55 alone, no log, time-out"), small_models["small_cnn"]
    vela = compiled(model, NPUS[0])
    options = ("-DCLIENT_NO_INTERRUPT", "-DCLIENT_NO_HOOKS")
    found = run(link(tmp_path, archive, NPUS[0], model, vela, *options))
    assert found["failed"] == found["late"] == 5


def test_an_application_sees_arms_names_and_one_prefix(client, archive) -> None:
    """Global symbols of the library have Arm's names or our prefix, to avoid conflicts."""
    symbols = cbuild.run(["arm-none-eabi-nm", "-g", "--defined-only", *linked(archive)[1:]])
    names = {line.split()[-1] for line in symbols.splitlines() if len(line.split()) == 3}
    assert {name for name in names - listed() - FOREIGN if not name.startswith(OWN)} == set()
    assert "ethosu_ext_commands_U85" in cbuild.run(["arm-none-eabi-nm", client])


def listed() -> set[str]:
    """Read the names of Arm's headers: functions, macros, constants."""
    return {name.lstrip("&") for name, *_ in rows_of_arm()}


def rows_of_arm() -> list[list[str]]:
    """Read the rows of arm_names.txt: a name, and its type or value if one is given."""
    lines = (Path(__file__).parent / "arm_names.txt").read_text().splitlines()
    return [line.split(" ", 1) for line in lines if line and not line.startswith("#")]


# The calls made by TensorFlow Lite Micro and by board start-up.
MINIMAL = """#include <ethosu_driver.h>
static struct ethosu_driver npu;
int main(void)
{
    int error = ethosu_init(&npu, 0, 0, 0, 0, 0);
    struct ethosu_driver *one = ethosu_reserve_driver();
    error += ethosu_invoke_v3(one, 0, 0, 0, 0, 0, 0);
    ethosu_release_driver(one);
    return error;
}
"""


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in OPTIONS],
)
def test_arms_options_build_and_link(name, archives, tmp_path, capsys) -> None:
    """Each of Arm's options links with only the C library; prints the driver's text size."""
    options = ["-DETHOSU_EXT_STREAMS=2"] if name == TWO else []
    size = text_of_minimal(tmp_path, archives(name), DRIVER / "include", *options)
    ram = size_of_minimal(tmp_path, "data|bss")
    with capsys.disabled():
        print(f"\n{name}: {size} bytes of text, {ram} of static memory")
    assert 0 < ram <= RAM_MAX
    symbols = cbuild.run(["arm-none-eabi-nm", tmp_path / "minimal.elf"])
    assert ("ethosu_ext_part_U85" in symbols) == (name != "U55 alone, no log, time-out")
    assert ("ethosu_ext_commands_U65" in symbols) == (
        name not in ("U55 alone, no log, time-out", *SLOW)
    )
    assert (" W ethosu_ext_log" in symbols) == ("no log" not in name)


def test_a_program_with_another_number_of_payloads_does_not_link(archives, tmp_path) -> None:
    """A program built for fewer payloads must not link: its handles would be too small."""
    with pytest.raises(AssertionError, match="undefined reference to `ethosu_init'"):
        text_of_minimal(tmp_path, archives(TWO), DRIVER / "include")


def text_of_minimal(folder: Path, archive: Path, headers: Path, *options: str) -> int:
    """Count the bytes of code and constants linked from the archive for MINIMAL."""
    (folder / "minimal.c").write_text(MINIMAL)
    flags = [*CPU, *options, f"-I{headers}", "-specs=nano.specs", "-specs=nosys.specs"]
    flags += ["-Wl,--gc-sections", f"-Wl,-Map={folder / 'minimal.map'}"]
    program = ["-o", folder / "minimal.elf"]
    cbuild.run(["arm-none-eabi-gcc", *flags, folder / "minimal.c", *linked(archive), *program])
    return size_of_minimal(folder, "text|rodata")


def size_of_minimal(folder: Path, sections: str) -> int:
    """Count the archive's bytes of these sections in the program of text_of_minimal()."""
    kept = (folder / "minimal.map").read_text().split("Linker script and memory map")[1]
    row = rf"^ \.(?:{sections})\S*\s+0x\w+\s+0x(\w+) \S*libethosu_core_driver\w*\.a\("
    return sum(int(size, 16) for size in re.findall(row, kept, re.MULTILINE))


LIKE_ZEPHYR = """
cmake_minimum_required(VERSION 3.20)
project(firmware LANGUAGES C)
set(CMAKE_C_COMPILE_FEATURES "")
set(CONFIG_SYS_CLOCK_TICKS_PER_SEC 10000)
set(ETHOSU_TARGET_NPU_CONFIG ethos-u85-256)
set(ETHOSU_VERIFY OFF)
add_subdirectory({driver} driver)
"""


@pytest.fixture(scope="module")
def like_zephyr(tmp_path_factory) -> Path:
    """Build a project like Zephyr: U85 alone, without a verifier; returns its folder."""
    folder = tmp_path_factory.mktemp("zephyr")
    # West gives the folder this name.
    driver = shutil.copytree(DRIVER, folder / "hal_ethos_u")
    (folder / "CMakeLists.txt").write_text(LIKE_ZEPHYR.format(driver=driver))
    build(folder, source=folder)
    return folder


def test_a_project_that_includes_it_like_zephyr_gets_its_own_options(like_zephyr) -> None:
    """A project like Zephyr sets one product, ticks, and C11 without CMake's features."""
    commands = (like_zephyr / "build/compile_commands.json").read_text()
    for option in ("-DETHOSU_MACS=256", "-DETHOSU_U55=0", "-DETHOSU_U65=0"):
        assert option in commands
    assert commands.count("-DETHOSU_EXT_SECOND=10000u") == commands.count("-std=gnu11") > 10
    assert "name: hal_ethos_u" in (DRIVER / "zephyr/module.yml").read_text()


def test_an_unchanged_client_runs_without_a_verifier(like_zephyr, compiled, small_models, tmp_path):
    """With ETHOSU_VERIFY=OFF, an unchanged client runs without a verifier."""
    archive, model = like_zephyr / "build/driver/libethosu_core_driver.a", small_models["small_cnn"]
    client = link(tmp_path, archive, "ethos-u85-256", model, compiled(model, "ethos-u85-256"))
    found = run(client)
    assert found["failed"] == found["wrong"] == 0
    symbols = cbuild.run(["arm-none-eabi-nm", client])
    assert "ethosu_ext_part_U85" in symbols and "ethosu_ext_commands" not in symbols


def test_an_invalid_option_is_one_error(tmp_path) -> None:
    """An invalid option gives one error with its value and the expected format."""
    with pytest.raises(AssertionError, match="expected a name such as ethos-u55-128"):
        build(tmp_path, "-DETHOSU_TARGET_NPU_CONFIG=u99")


# Options of Arm's CMakeLists.txt, 1.0 (0356707) and 1.99 (b7cd193a).
ARMS_DEFAULTS = {
    "ETHOSU_TARGET_NPU_CONFIG": "ethos-u55-128",
    "ETHOSU_MULTI_VARIANT": "OFF",
    "ETHOSU_LOG_ENABLE": "ON",
    "ETHOSU_LOG_SEVERITY": "warning",
    "ETHOSU_INFERENCE_TIMEOUT": "",
    "CMSIS_PATH": "../cmsis_6",
}


def test_the_readme_lists_the_options_that_differ_from_arms() -> None:
    """The README lists every option whose default differs from Arm's, with both defaults."""
    text = (DRIVER / "CMakeLists.txt").read_text()
    ours = dict(re.findall(r'^set\((ETHOSU_\w+) "?([^" ]*)"? CACHE', text, re.MULTILINE))
    differ = {
        name: (ARMS_DEFAULTS.get(name), ours.get(name))
        for name in {**ARMS_DEFAULTS, **ours}
        if ARMS_DEFAULTS.get(name) != ours.get(name)
    }
    page = (DRIVER / "README.md").read_text().partition("| option | Arm's default |")[2]
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \| (.*?) \|", page.partition("\n\n")[0], re.MULTILINE)
    assert {name: (arms, here) for name, arms, here in rows} == {
        name: tuple("none" if each is None else f"`{each}`" if each else "empty" for each in both)
        for name, both in differ.items()
    }


MACROS = """
#if !defined(ETHOSU) || !defined(ETHOSU55) || ETHOSU_MACS != 128
#error "the macros of Arm's library are missing"
#endif
#define TEXT_(word) #word
#define TEXT(word) TEXT_(word)
_Static_assert(sizeof TEXT(ETHOSU_ARCH) == 4, "ETHOSU_ARCH");
const char *arch = TEXT(ETHOSU_ARCH);
"""


def test_a_program_gets_the_macros_of_arms_library(tmp_path) -> None:
    """A program gets Arm's macros, also if the library supports all products.

    The program's source alone is compiled: other tests here build the library with its options.
    """
    (tmp_path / "macros.c").write_text(MACROS)
    (tmp_path / "CMakeLists.txt").write_text(
        f"cmake_minimum_required(VERSION 3.15)\nproject(firmware LANGUAGES C)\n"
        f"add_subdirectory({DRIVER} driver EXCLUDE_FROM_ALL)\n"
        "add_library(macros OBJECT macros.c)\ntarget_link_libraries(macros ethosu_core_driver)\n"
    )
    configure(tmp_path, source=tmp_path)
    commands = json.loads((tmp_path / "build/compile_commands.json").read_text())
    (row,) = (row for row in commands if row["file"].endswith("macros.c"))
    command = row["command"]
    (tmp_path / "build/CMakeFiles/macros.dir").mkdir(exist_ok=True)
    sharing.run(shlex.split(command), Path(row["directory"]))
    assert "-DETHOSU_ARCH=u55 " in command
    assert not any("-DETHOSU_U85=0" in row["command"] for row in commands)


def test_every_name_of_arms_headers_exists(tmp_path) -> None:
    """The compiler finds every name of arm_names.txt, with its type or value, in C and C++."""
    rows = rows_of_arm()
    assert len(rows) > 300
    checks = []
    for index, (name, *rest) in enumerate(rows):
        kind = rest[0] if rest else ""
        if kind.startswith("= "):
            checks.append(f'_Static_assert({name} == ({kind[2:]}), "{name}");')
        elif kind.startswith(". "):
            struct, member = name.split(".")
            checks.append(f"_Static_assert(_Generic(((struct {struct} *)0)->{member}, "
                          f"{kind[2:]}: 1, default: 0), \"{name}\");")  # fmt: skip
        elif kind:
            checks.append(f"static {kind.replace('(*)', f'(*const use{index})')} = {name};")
        else:
            checks.append(f"static const int use{index} = (int){name};")
    source = tmp_path / "names.c"
    # As in 1.99, the first header declares the events.
    events = "enum ethosu_pmu_event_type counted[ETHOSU_PMU_NCOUNTERS];"
    heads = ("#include <ethosu_driver.h>", events, "#include <ethosu_pmu_funcs.h>")
    source.write_text("\n".join([*heads, "#include <pmu_ethosu.h>", *checks]))
    command = ["-std=c11", "-fsyntax-only", "-Werror", f"-I{DRIVER}/include", source]
    cbuild.run(["arm-none-eabi-gcc", *CPU, *command])
    command = ["-x", "c++", "-fsyntax-only", f"-I{DRIVER}/include", "-include", "pmu_ethosu.h"]
    cbuild.run(["gcc", *command, "/dev/null"])
