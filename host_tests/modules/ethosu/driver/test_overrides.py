# SPDX-License-Identifier: MIT
"""A program's functions in a static library replace the library's weak ones.

A linker takes an object of a static library only for a symbol that is still undefined, so a weak
default that is linked earlier wins silently. driver/README.md says how to link.
"""

import re
import shutil
from pathlib import Path

import pytest

from host_tests.kit import sharing
from host_tests.modules.ethosu.driver import cbuild
from host_tests.modules.ethosu.driver.test_library import CPU, DRIVER, build

# Without optimisation where the linker alone decides.
CORES = ["-O0", "-ffunction-sections", "-Wall", "-Wextra", "-Werror"]
GCC = ["arm-none-eabi-gcc", *CPU, *CORES]
CLANG = ["clang", "--target=arm-none-eabi", *CPU, *CORES]
CLANG += ["-isystem", "/usr/lib/arm-none-eabi/include"]
COMPILERS = {
    "gcc": GCC,
    "gcc-lto": [*GCC, "-O2", "-flto", "-w"],
    "clang": CLANG,
    "clang-lld": CLANG,
    "clang-lld-lto": [*CLANG, "-O2", "-flto"],
}
# The runtime's call of a hook that the driver itself calls for layouts only.
RUNTIME = """#include <arm_ethos_io_memcpy.h>
void runtime_copy(void *to, const void *from) { arm_ethos_io_memcpy(to, from, 100); }
"""
MAIN = """#include <ethosu_ext.h>
extern void runtime_copy(void *to, const void *from);
static struct ethosu_driver npu;
int main(void)
{
    char buffer[200];
    struct ethosu_ext_fault fault;
    int error = ethosu_init(&npu, 0, 0, 0, 0, 0);
    struct ethosu_driver *one = ethosu_ext_reserve(0, 1000, &fault);
    error += ethosu_invoke_v3(one, 0, 0, 0, 0, 0, 0);
    ethosu_release_driver(one);
    ethosu_deinit(&npu);
    runtime_copy(buffer, buffer + 100);
    return error;
}
"""
# Stand-ins for functions of the C library and Arm's run-time ABI, which nothing calls.
LIBC = "".join(
    f'__asm__(".thumb\\n.global {name}\\n.type {name}, %function\\n{name}: bx lr");\n'
    for name in (
        *("memcpy", "memmove", "memset", "strcmp", "strlen", "__aeabi_uldivmod"),
        *(f"__aeabi_mem{what}{size}" for what in ("clr", "cpy", "move") for size in ("", 4, 8)),
    )
)
ORDERS = {
    "library-first": ["bsp", "runtime", "driver"],
    "library-last": ["runtime", "driver", "bsp"],
    "group": ["-Wl,--start-group", "driver", "runtime", "bsp", "-Wl,--end-group"],
}


def hooks() -> list[str]:
    """Return the functions that a program may replace, as CMake reads them."""
    return re.findall(r"^EXTERN\((\w+)\)$", (DRIVER / "hooks.ld").read_text(), re.MULTILINE)


def strong(name: str) -> str:
    """Write a C file that defines a hook, which link-time optimisation keeps in the image."""
    return f"__attribute__((used, noinline)) int {name}(void) {{ return 0; }}\n"


def archive(folder: Path, compiler: str, name: str, sources: dict[str, str] | list[Path]) -> Path:
    """Make a static library of C files, given as texts by name, or as paths."""
    if isinstance(sources, dict):
        (folder / name).mkdir()
        for stem, text in sources.items():
            (folder / name / f"{stem}.c").write_text(text)
        sources = sorted((folder / name).glob("*.c"))
    flags = [*COMPILERS[compiler], f"-I{DRIVER}/include", f"-I{DRIVER.parent}"]
    objects = sharing.objects(flags, sources)
    if name in ("main", "libc"):
        return objects[0]
    made = folder / f"lib{name}.a"
    tool = "arm-none-eabi-gcc-ar" if compiler != "clang-lld-lto" else clangs("llvm-ar")
    cbuild.run([tool, "rcs", made, *objects])
    return made


def clangs(tool: str) -> str | None:
    """Return the path of a tool of Clang's release."""
    return shutil.which(cbuild.run(["clang", f"-print-prog-name={tool}"]).strip())


def is_default(path: Path) -> bool:
    """Whether this source belongs to the archive that is linked last."""
    names = (DRIVER / "sources.cmake").read_text().partition("ETHOSU_DRIVER_DEFAULTS ")[2]
    return path.name in re.findall(r"\w+\.c", names.partition(")")[0])


@pytest.fixture(scope="module")
def libraries(tmp_path_factory):
    """Build the libraries, by name, for each of COMPILERS; two linkers get the same."""
    made: dict[str, dict[str, Path]] = {}

    def libraries_of(compiler: str) -> dict[str, Path]:
        compiler = next(name for name in COMPILERS if COMPILERS[name] == COMPILERS[compiler])
        if compiler not in made:
            folder = tmp_path_factory.mktemp(compiler)
            sources = sorted(DRIVER.rglob("*.c"))
            defaults = [path for path in sources if is_default(path)]
            parts: dict[str, dict[str, str] | list[Path]] = {
                "driver": [path for path in sources if path not in defaults],
                "defaults": defaults,
                "runtime": {"runtime": RUNTIME},
                "bsp": {f"own_{name}": strong(name) for name in hooks()},
                "main": {"main": MAIN},
            }
            made[compiler] = {
                name: archive(folder, compiler, name, files) for name, files in parts.items()
            }
            made[compiler]["libc"] = archive(folder, "gcc", "libc", {"libc": LIBC})
        return made[compiler]

    return libraries_of


def linked(libraries: dict[str, Path], compiler: str, words: list[str | Path]) -> dict[str, str]:
    """Link a program without C library and start; returns nm's letter for each hook."""
    files = [*(libraries.get(str(word), word) for word in words), libraries["libc"]]
    program = libraries["bsp"].with_name("program.elf")
    flags = ["-nostdlib", "-Wl,--gc-sections", "-Wl,-e,main"]
    linker = COMPILERS[compiler]
    if "lld" in compiler:
        flags += ["-fuse-ld=lld", "-Wl,--unresolved-symbols=ignore-all"]
    elif compiler == "clang":
        linker = GCC
    cbuild.run([*linker, *flags, "-o", program, libraries["main"], *files])
    symbols = [line.split()[-2:] for line in cbuild.run(["arm-none-eabi-nm", program]).splitlines()]
    return {name: kind for kind, name in symbols if name in hooks()}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("compiler", COMPILERS)
def test_each_function_of_a_static_library_wins(compiler, order, libraries) -> None:
    """With the README's linker command, each function of a static library wins."""
    if "lld" in compiler and not clangs("ld.lld"):
        pytest.skip("no lld: it comes with the packages for the web")
    words: list[str | Path] = [*ORDERS[order]]
    words.insert(len(words) - (order == "group"), "defaults")
    found = linked(libraries(compiler), compiler, [DRIVER / "hooks.ld", *words])
    assert {name: kind.upper() for name, kind in found.items()} == dict.fromkeys(hooks(), "T")


@pytest.mark.parametrize("order", ORDERS)
def test_without_these_rules_defaults_win(order, libraries) -> None:
    """Without the README's rules, defaults win, which shows that the test above can fail."""
    words: list[str | Path] = []
    for word in ORDERS[order]:
        words += ["driver", "defaults", "driver"] if word == "driver" else [word]
    assert "W" in linked(libraries("gcc"), "gcc", words).values()


def test_the_list_of_hooks_is_complete(libraries) -> None:
    """Each weak function is in the list and in the last archive; elsewhere it could win."""
    weak = {}
    for name in ("driver", "defaults"):
        lines = cbuild.run(["arm-none-eabi-nm", libraries("gcc")[name]]).splitlines()
        weak[name] = {line.split()[-1] for line in lines if re.search(" [WVwv] ", line)}
    assert weak == {"driver": set(), "defaults": set(hooks()) - {"ethosu_ext_log"}}


PROJECT = """
cmake_minimum_required(VERSION 3.15)
project(firmware LANGUAGES C)
add_subdirectory({driver} driver)
add_library(project_flags INTERFACE)
target_compile_options(project_flags INTERFACE -fstack-usage)
target_link_libraries(ethosu_core_driver PUBLIC project_flags)
add_library(runtime STATIC runtime.c)
target_link_libraries(runtime PUBLIC ethosu_core_driver)
add_library(bsp STATIC {own})
add_custom_command(OUTPUT plain.a DEPENDS bsp COMMAND ${{CMAKE_COMMAND}} -E copy libbsp.a plain.a)
add_custom_target(plain_file DEPENDS plain.a)
set(first bsp runtime ethosu_core_driver)
set(last runtime ethosu_core_driver bsp)
set(file runtime ethosu_core_driver ${{CMAKE_CURRENT_BINARY_DIR}}/plain.a)
foreach(order first last file)
    add_executable(${{order}} main.c)
    add_dependencies(${{order}} plain_file)
    target_link_libraries(${{order}} PRIVATE ${{${{order}}}})
    target_link_options(${{order}} PRIVATE -specs=nano.specs -specs=nosys.specs -Wl,--gc-sections)
endforeach()
"""


def test_each_function_of_a_static_library_wins_in_cmake(tmp_path) -> None:
    """In CMake, hooks win from a library before or after ours, or from a file."""
    own = {f"own_{name}.c": strong(name) for name in hooks()}
    for name, text in {**own, "runtime.c": RUNTIME, "main.c": MAIN}.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "CMakeLists.txt").write_text(PROJECT.format(driver=DRIVER, own=" ".join(own)))
    build(tmp_path, "-DCMAKE_C_FLAGS_MINSIZEREL=-O0", source=tmp_path)
    for program in ("first", "last", "file"):
        text = cbuild.run(["arm-none-eabi-nm", tmp_path / "build" / program])
        found = {name: kind for _, kind, name in re.findall(r"^(\w+) (\w) (\w+)$", text, re.M)}
        assert {name: found.get(name) for name in hooks()} == dict.fromkeys(hooks(), "T"), program
    commands = (tmp_path / "build/compile_commands.json").read_text()
    assert commands.count("-fstack-usage") >= len(list(DRIVER.rglob("*.c")))
