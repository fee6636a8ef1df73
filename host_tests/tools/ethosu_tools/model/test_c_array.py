# SPDX-License-Identifier: MIT
"""`--c-array` writes a model as C and C++ take it, byte by byte, aligned."""

import subprocess

import pytest
from ethosu_tools.base.errors import UsageError
from ethosu_tools.model import ModelFile, c_array

# A second source uses the array of the first, except in a header, which it includes.
MAIN = """\
#include <stdint.h>
#include <stdio.h>
{declared}
int main(void) {{
    fwrite({name}, 1, {name}_len, stdout);
    return ((uintptr_t){name} % 16) != 0 || {name}_len != sizeof_it;
}}
"""


@pytest.mark.parametrize("compiler", ["gcc", "g++"])
@pytest.mark.parametrize("suffix", ["h", "c"])
def test_a_compiler_makes_the_same_bytes(ethosu, small_models, tmp_path, suffix, compiler):
    made, array = tmp_path / "made.tflite", tmp_path / f"my-model.2.{suffix}"
    words = ("--c-array", array, "--c-section", ".model", "-o", made, "--json")
    code, out, err = ethosu("compile", small_models["small_cnn"], *words)
    assert code == 0 and f'"c_array": "{array}"' in out, err
    assert "SPDX" not in array.read_text() and ModelFile(array).data == made.read_bytes()
    name, size = "my_model_2", made.stat().st_size
    kinds = f"extern const unsigned char {name}[]; extern const unsigned int {name}_len;"
    declared = f'#include "{array.name}"' if suffix == "h" else kinds
    main = MAIN.format(declared=declared, name=name).replace("sizeof_it", str(size))
    (tmp_path / "main.c").write_text(main)
    sources = ["main.c", *([array.name] if suffix == "c" else [])]
    options = ("-Wall", "-Wextra", "-Werror", "-pedantic", "-o", "program")
    subprocess.run([compiler, *options, *sources], cwd=tmp_path, check=True)
    done = subprocess.run([tmp_path / "program"], capture_output=True, check=True)
    assert done.stdout == made.read_bytes()
    sections = subprocess.run(["objdump", "-h", "program"], cwd=tmp_path, capture_output=True)
    assert b" .model " in sections.stdout


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("a.h", "a"),
        ("2 b.cc", "model_2_b"),
        ("int.c", "model_int"),
        ("_x__y.h", "x_y"),
        ("ü.h", "model_"),
    ],
)
def test_the_name_is_an_identifier(tmp_path, file, name):
    assert c_array.name_of(tmp_path / file) == name and name.isidentifier()


def test_other_files_and_sections_are_refused_before_anything_is_made(
    fails, small_models, tmp_path
):
    with pytest.raises(UsageError, match=r"must end in \.h"):
        c_array.name_of(tmp_path / "model.txt")
    made, model = tmp_path / "made.tflite", small_models["small_cnn"]
    for words in (
        ("--c-array", "x.txt"),
        ("--c-section", "a"),
        ("--c-array=x.h", "--c-section=a b"),
    ):
        fails(
            "compile",
            model,
            "-o",
            made,
            *words,
            code=2,
            said=("must end", "--c-section")[words[0] != "--c-array"],
        )
    assert not made.exists()
