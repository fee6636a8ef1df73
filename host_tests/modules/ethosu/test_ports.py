# SPDX-License-Identifier: MIT
"""The module compiles with the flags and C libraries of MicroPython's own ports.

All sources are checked for a Cortex-M55 with each port's flags, and those with assembly compiled to
objects: some faults are the assembler's. The larger sweep compiles all to objects, at each level:
the optimiser has warnings, too, which are errors in the firmware's own build as well. For ports
whose makefile is part of MicroPython's source, the test looks up each flag there, to keep the list
up to date. Each MICROPY_ option that an `#if` of the module asks for is compiled with all its
values.
"""

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from host_tests.kit import sharing
from host_tests.modules.ethosu.driver import cbuild

GCC = ["arm-none-eabi-gcc", "-mcpu=cortex-m55", "-mthumb", "-mfloat-abi=hard"]
# Ports set both flags, and neither enables all features of a Cortex-M55.
FPUS = ([], ["-mfpu=fpv5-d16"])
WARNINGS = "-Wall -Werror -Wdouble-promotion"
SINGLE = "-fsingle-precision-constant"
# For a port with doubles.
NOT_SINGLE = "-fno-single-precision-constant"
PORTS = {
    "stm32/Makefile": f"{WARNINGS} -Wpointer-arith -Wfloat-conversion -std=gnu99 {SINGLE}",
    "mimxrt/Makefile": f"{WARNINGS} -Wfloat-conversion -std=c99 {SINGLE}",
    "alif/alif.mk": f"{WARNINGS} -Wfloat-conversion -std=c99 {SINGLE}",
    "nrf/Makefile": f"{WARNINGS} -std=c11 {SINGLE}",
    "webassembly/Makefile": f"{WARNINGS} -Wfloat-conversion -std=c99",
    "zephyr/CMakeLists.txt": "-std=gnu99",
    "rp2/CMakeLists.txt": "-Wall -Werror",
}
# Warnings add up, including those of a port's SDK: -Wformat (Zephyr), -Wextra (ESP-IDF).
# The oldest standard is the strictest; the firmware itself uses a new one.
STRICTEST = (
    f"{WARNINGS} -Wpointer-arith -Wfloat-conversion -Wformat -Wformat-security "
    "-Wno-format-zero-length -Wextra -Wno-unused-parameter -Wno-sign-compare "
    f"-std=c99 {SINGLE}"
)
KERNELS = "runtime/kernels/*"
FOLDERS = (
    "driver/*",
    "runtime/*",
    "executorch",
    "executorch/*",
    KERNELS,
    "audio",
    "image",
    "minimal",
    "binding",
    "binding/*",
)
# The compiler computes the first function itself; docs/upstream_port.md defines the others.
NOT_OF_LIBM = {"fabsf", "fmaxf", "fminf"}
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
# A port's own config, with some options changed.
CONFIG = '#include "{firmware}/mpconfigport.h"\n{options}'
OPTION = "#undef MICROPY_{name}\n#define MICROPY_{name} ({value})\n"
# Floats have single precision, as in most ports.
FLOATS = {"FLOAT_IMPL": "MICROPY_FLOAT_IMPL_FLOAT"}
# A preprocessor line that tests options.
QUESTION = re.compile(r"^#\s*(?:el)?if.*(?:\\\n.*)*", re.MULTILINE)
# Options that the module tests, with each value; options of a row change together.
SWITCHES: tuple[dict[str, str], ...] = (
    {"GC_SPLIT_HEAP": "0"},
    {"GC_SPLIT_HEAP": "1"},
    {"VFS_ROM_IOCTL": "0"},
    {"VFS_ROM_IOCTL": "1"},
    {"MEM_STATS": "0"},
    {"MEM_STATS": "1"},
    {"PY_THREAD": "0", "PY_THREAD_GIL": "0"},
    {"PY_THREAD": "1", "PY_THREAD_GIL": "0"},
    {"PY_THREAD": "1", "PY_THREAD_GIL": "1"},
    {"GC_ALLOC_THRESHOLD": "0"},
    {"GC_ALLOC_THRESHOLD": "1"},
    {"STACK_CHECK": "0"},
    {"STACK_CHECK": "1"},
)
# Options that a port cannot choose: without the first two there is an error, see below.
REQUIRED = {"PY_BUILTINS_FLOAT", "SCHEDULER_STATIC_NODES"}
NATIVE = {"ENABLE_DYNRUNTIME"}
# Options that change what MicroPython's headers declare for the module.
SHAPES: tuple[dict[str, str], ...] = (
    {"FLOAT_IMPL": "MICROPY_FLOAT_IMPL_DOUBLE"},
    {"OBJ_REPR": "MICROPY_OBJ_REPR_A"},
    {"OBJ_REPR": "MICROPY_OBJ_REPR_B"},
    {"OBJ_REPR": "MICROPY_OBJ_REPR_C"},
    {"OBJ_REPR": "MICROPY_OBJ_REPR_D", "FLOAT_IMPL": "MICROPY_FLOAT_IMPL_DOUBLE"},
    {"PY_ASYNCIO": "0"},
    {"ENABLE_FINALISER": "0"},
    {"ERROR_REPORTING": "MICROPY_ERROR_REPORTING_TERSE"},
    {"ERROR_REPORTING": "MICROPY_ERROR_REPORTING_NONE"},
    {"LONGINT_IMPL": "MICROPY_LONGINT_IMPL_LONGLONG"},
    {"ROM_TEXT_COMPRESSION": "0"},
)
WRAPPED = ("gc_free", "gc_realloc", "mp_vfs_rom_ioctl")
# Prints the flags that micropython.mk adds to a port.
PRINT_FLAGS = "include $(USERMOD_DIR)/micropython.mk\n$(info $(CFLAGS_USERMOD))\nall: ;\n"


@pytest.fixture(scope="module")
def module(repo):
    return repo / "modules/ethosu"


@pytest.fixture(scope="module")
def micropython(repo):
    """Return MicroPython's source, as used by the firmware."""
    fetch = ["python3", repo / "firmware/make/fetch_micropython.py"]
    done = subprocess.run(fetch, check=True, capture_output=True, text=True)
    return Path(done.stdout.strip())


def compile_all(flags, sources, compiler=GCC):
    """Compile all these sources to objects; their warnings are errors."""
    command = [*compiler, *STRICTEST.split(), *flags, "-ffp-contract=off"]
    return sharing.objects(command, sources)


def check_all(flags, sources):
    """Check the sources without generating code; warnings are errors."""
    command = [*GCC, *STRICTEST.split(), *flags, "-ffp-contract=off", "-fsyntax-only"]
    sharing.run([*command, *sources])


def header(folder, options):
    """Write a configuration of MicroPython with these options."""
    changed = "".join(OPTION.format(name=name, value=options[name]) for name in options)
    path = folder / "config.h"
    path.write_text(CONFIG.format(firmware=sharing.REPO / "firmware", options=changed))
    (folder / "mpthreadport.h").write_text(
        "typedef int mp_thread_mutex_t, mp_thread_recursive_mutex_t;\n"
    )
    return path


def binding_flags(repo, micropython, folder, options=FLOATS):
    """Return include paths of the Python module, including the firmware's list of names."""
    board, firmware = repo / "build/firmware/MPS3_AN547", repo / "firmware"
    folders = (board / "common", board / "board", firmware / "include", firmware / "port")
    return [
        f'-DMP_CONFIGFILE="{header(folder, options)}"',
        *(f"-I{path}" for path in (*folders, repo, micropython, folder)),
        *("-isystem", sharing.micropython("--cmsis")),
    ]


def includes(module):
    return [
        f"-I{module / folder}"
        for folder in (".", "audio", "image", "driver/include", "runtime/include")
    ]


def all_sources(module):
    sources = [path for folder in FOLDERS for path in sorted(module.glob(f"{folder}/*.c"))]
    assert len(sources) > 80
    return sources


def test_it_compiles_with_the_flags(repo, module, micropython, tmp_path):
    paths = [*includes(module), *binding_flags(repo, micropython, tmp_path)]
    sources = all_sources(module)
    check_all(["-Os", *paths], sources)
    with_assembly = [path for path in sources if has_assembly(path, module)]
    assert len(with_assembly) > 5
    compile_all(["-Os", *paths], with_assembly)


def has_assembly(path, module):
    """In itself or in a header of the module that it includes."""
    headers = {each.name: each for each in module.rglob("*.h")}
    seen, ahead = set(), [path]
    while ahead:
        text = ahead.pop().read_text()
        if re.search(r"\b(?:__)?asm\b", text):
            return True
        named = re.findall(r'^#include "(?:.*/)?(.+)"', text, re.MULTILINE)
        ahead += [headers[name] for name in named if name in headers and name not in seen]
        seen.update(named)
    return False


@pytest.mark.slow
@pytest.mark.parametrize("fpu", FPUS, ids=["own_fpu", "d16"])
@pytest.mark.parametrize("level", ["-Os", "-O2", "-O3"])
def test_it_compiles_at_each_level(level, fpu, repo, module, micropython, tmp_path):
    paths = [*includes(module), *binding_flags(repo, micropython, tmp_path)]
    compile_all([level, *fpu, *paths], all_sources(module))


def asking(path):
    """Return MicroPython's options that a source tests."""
    lines = QUESTION.findall(COMMENT.sub("", path.read_text()))
    return {name for line in lines for name in re.findall(r"\bMICROPY_(\w+)", line)}


def test_each_option_that_the_module_asks_for_has_a_row(module):
    asked = {name for path in module.rglob("*.[ch]") for name in asking(path)}
    listed = {name for row in SWITCHES for name in row}
    assert {"MEM_STATS", "PY_THREAD_GIL"} <= asked
    assert asked - REQUIRED - NATIVE == listed
    values = {name: {row.get(name) for row in SWITCHES} - {None} for name in listed}
    assert [name for name in values if values[name] != {"0", "1"}] == []


@pytest.mark.parametrize("options", SWITCHES, ids=str)
@pytest.mark.parametrize(
    "levels", [["-O0"], pytest.param(["-Os", "-O2"], marks=pytest.mark.slow)], ids="/".join
)
def test_it_compiles_with_each_value_of_an_option(
    levels, options, repo, module, micropython, tmp_path
):
    """Sources that test an option compile with each of its values."""
    sources = [path for path in all_sources(module) if asking(path) & set(options)]
    assert sources
    flags = [*includes(module), *binding_flags(repo, micropython, tmp_path, {**FLOATS, **options})]
    for level in levels:
        compile_all([level, *flags], sources)


@pytest.mark.slow
@pytest.mark.parametrize("options", SHAPES, ids=str)
def test_it_compiles_with_each_shape_of_micropython(options, repo, module, micropython, tmp_path):
    shape = {**FLOATS, **options}
    flags = [*includes(module), *binding_flags(repo, micropython, tmp_path, shape)]
    if shape["FLOAT_IMPL"] == "MICROPY_FLOAT_IMPL_DOUBLE":
        flags.append(NOT_SINGLE)
    for level in ("-Os", "-O2"):
        compile_all([level, *flags], sorted((module / "binding").rglob("*.c")))


def test_it_compiles_with_the_configuration_of_the_unix_port(repo, module, micropython):
    """The module compiles for the unix port; nightly tests also build and run it."""
    port, example = micropython / "ports/unix", module / "ports/unix"
    sim = [f"-I{repo / name}" for name in ("tools/sim_host", "tools/npu_sim")]
    names = [f"-I{repo / 'build/firmware/MPS3_AN547/common'}"]
    paths = [f"-I{path}" for path in (port, micropython, example)]
    flags = ["-O0", "-std=gnu99", NOT_SINGLE, "-DNDEBUG", "-DUNIX", *includes(module), *names]
    sources = [*sorted((module / "binding").rglob("*.c")), example / "board.c"]
    compile_all([*flags, *paths, *sim], sources, ["gcc"])


def test_it_compiles_with_the_configuration_of_the_qemu_port(repo, module, micropython):
    """The module compiles for the qemu port; nightly tests also build and run it."""
    port, example = micropython / "ports/qemu", module / "ports/qemu"
    names = [f"-I{repo / 'build/firmware/MPS3_AN547/common'}"]
    paths = [f"-I{path}" for path in (port, micropython)]
    flags = ["-O0", "-DNDEBUG", "-DMICROPY_SCHEDULER_STATIC_NODES=1", "-DMICROPY_HEAP_SIZE=1"]
    flags += [*FPUS[1], *includes(module), *names, *paths]
    boards = [example / "board.c", example / "older/machine.c"]
    compile_all(flags, [*sorted((module / "binding").rglob("*.c")), *boards])


def test_the_ports_still_have_these_flags(micropython):
    texts = {port: (micropython / "ports" / port).read_text() for port in PORTS}
    flags = [(port, flag) for port, row in PORTS.items() for flag in row.split()]
    assert [(port, flag) for port, flag in flags if flag not in texts[port]] == []


@pytest.mark.parametrize(
    ("option", "value", "error"),
    [
        ("FLOAT_IMPL", "MICROPY_FLOAT_IMPL_NONE", "needs floats: set MICROPY_FLOAT_IMPL"),
        ("SCHEDULER_STATIC_NODES", "0", "calls: set MICROPY_SCHEDULER_STATIC_NODES to 1"),
    ],
)
def test_a_port_without_a_feature_gets_an_error(
    option, value, error, repo, module, micropython, tmp_path
):
    flags = [*includes(module), *binding_flags(repo, micropython, tmp_path, {option: value})]
    with pytest.raises(AssertionError, match=error):
        compile_all(flags, [module / "binding/modethosu.c"])


@pytest.mark.parametrize(
    ("recipe", "linker", "expected"),
    [
        ("$(Q)$(CC) $(LDFLAGS) -o $@ $^", "arm-none-eabi-ld", "-Wl,--wrap="),
        ("$(Q)$(LD) $(LDFLAGS) -o $@ $^", "arm-none-eabi-ld", "--wrap="),
        ("$(Q)$(LD) -T$(BUILD)/link.ld $(LDFLAGS) -o $@ $^", "/opt/bin/ld -m32", "--wrap="),
        ("$(Q)$(LD) $(LDFLAGS) -o $@ $^", "arm-none-eabi-gcc", "-Wl,--wrap="),
    ],
)
def test_the_linker_gets_its_flag_as_the_port_calls_it(recipe, linker, expected):
    """The linker gets its flag both from ports that call it directly and via the compiler."""
    lines = f"all:\n\t@echo $(LDFLAGS_USERMOD)\nimage:\n\t{recipe}\n"
    printed = sharing.ask_module(lines, f"LD={linker}").split()
    assert printed == [f"{expected}{name}" for name in WRAPPED]


@pytest.mark.parametrize("given", ["modules", "modules/ethosu", "/elsewhere modules/ethosu"])
def test_flags_of_its_objects_reach_them(given, module, tmp_path):
    """Objects are in the module's folder, where its flags apply, also if a manifest names it."""
    print_objects = "$(info $(call ETHOSU_OBJ,binding/tensor/element.c))\nall: ;\n"
    path = given.replace("modules", str(module.parent))
    printed = sharing.ask_module(print_objects, f"USER_C_MODULES={path}", f"BUILD={tmp_path}")
    assert printed.split() == [f"{tmp_path}/ethosu/binding/tensor/element.o"]


def test_headers_of_the_module_hide_no_others(module, tmp_path):
    """Our headers must hide no others, since user modules' include paths apply to all sources."""
    (tmp_path / "port").mkdir()
    (tmp_path / "port/pin.h").write_text("int the_port;\n")
    (tmp_path / "generated.c").write_text('#include <error.h>\n#include "pin.h"\n')
    (tmp_path / "flags.mk").write_text(PRINT_FLAGS)
    make = ["make", "-s", "-f", tmp_path / "flags.mk", f"USERMOD_DIR={module}", "BUILD="]
    flags = shlex.split(sharing.run(make))
    command = ["gcc", "-E", *flags, f"-I{tmp_path / 'port'}", tmp_path / "generated.c"]
    found = sharing.run(command)
    assert "error_at_line" in found and "int the_port;" in found
    assert f"{module}/image" in flags


def test_no_header_of_the_c_library_is_found_instead_of_ours_or_hidden_by_it(module):
    """Ours and the C library's headers never hide each other, in make's and CMake's order."""
    sources = [path for folder in FOLDERS for path in module.glob(f"{folder}/*.[ch]")]
    named = {
        name
        for path in sources
        for name in re.findall(r'^#include "(.+)"', path.read_text(), re.MULTILINE)
        if not (path.parent / name).exists()
    }
    named |= {path.name for path in module.rglob("*.h")}
    assert {"ethosu_ext.h", "polling.h"} <= named
    questions = "".join(f"#if __has_include(<{name}>)\n{name}\n#endif\n" for name in named)
    for compiler in ("gcc", "arm-none-eabi-gcc"):
        command = [compiler, "-E", "-P", "-x", "c", "-"]
        done = subprocess.run(command, input=questions, capture_output=True, text=True, check=True)
        assert done.stdout.split() == []


def test_it_calls_no_function_that_micropython_s_libm_lacks(module, micropython):
    """Calls that an FPU's instructions replace must exist in MicroPython's libm, too."""
    command = ["arm-none-eabi-gcc", "-std=c11", "-E", "-P", "-include", "math.h", "-x", "c", "-"]
    header = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True
    ).stdout
    declared = set(re.findall(r"\b(\w+) \((?:float|double)\b", header))
    libm = "".join(path.read_text() for path in (micropython / "lib/libm").glob("*.c"))
    provided = set(re.findall(r"^\s*float (\w+)\(", libm, re.MULTILINE)) | NOT_OF_LIBM
    assert {"rintf", "sqrtf"} <= declared and "sqrtf" in provided
    lacking = {
        (name, path.name)
        for folder in FOLDERS
        for path in module.glob(f"{folder}/*.[ch]")
        for name in re.findall(r"\b(\w+)\(", COMMENT.sub("", path.read_text()))
        if name in declared - provided
    }
    assert lacking == set()


def test_it_links_with_a_mathematical_library_of_floats(repo, module, micropython, tmp_path):
    """The module links with MicroPython's single-precision libm, the only one in many ports."""
    objects = cbuild.firmware_objects()
    sources = [*(micropython / "lib/libm").glob("*.c")]
    sources += [micropython / "shared/libc/string0.c", tmp_path / "board.c"]
    (tmp_path / "board.c").write_text(
        '#include "ethosu_board.h"\n'
        'const struct ethosu_board ethosu_board = {.name = "none"};\n'
        "uint32_t ethosu_ext_board_ticks_ms(void) { return 0; }\n"
        "void ethosu_ext_board_idle(const volatile uint32_t *flag, uint64_t at_most_ms)\n"
        "{ (void)flag; (void)at_most_ms; }\n"
    )
    sources = [path for path in sources if path.name != "thumb_vfp_sqrtf.c"]
    flags = ["-std=gnu11", "-Os", "-w", "-ffp-contract=off", *includes(module)]
    flags += [f"-I{micropython / folder}" for folder in ("lib/libm", ".")]
    flags += binding_flags(repo, micropython, tmp_path)
    command = [*GCC, *flags, "-nostdlib", "-nostartfiles", "-Wl,-e,0", *sources, *objects]
    done = subprocess.run(
        [*command, "-lgcc", "-o", tmp_path / "linked"], capture_output=True, text=True, check=False
    )
    missing = set(re.findall(r"undefined reference to `(\w+)'", done.stderr))
    assert (missing, done.returncode) == (set(), 0), done.stderr
