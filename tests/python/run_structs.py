"""What the package of Python knows of the public header, by a compiler: run_structs.py SOURCE COMPILER...

Sizes and offsets of the structs, values of the enums, and that the version is the library's."""
import ctypes
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import typing

SOURCE, *COMPILER = sys.argv[1:]
sys.path.insert(0, os.path.join(SOURCE, "tests/tuner"))
from checks import check, end  # noqa: E402

import mmtune  # noqa: E402
from mmtune import _errors, _library  # noqa: E402

HEADER = pathlib.Path(SOURCE, "include/mmtune/mmtune.h").read_text(encoding="utf-8")
ENUMS = {"op": ("MMT_", _library.OPS), "type": ("MMT_", _library.TYPES), "bias": ("MMT_BIAS_", _library.BIASES),
         "activation": ("MMT_", _library.ACTIVATIONS), "f32_mode": ("MMT_F32_", _library.F32_MODES),
         "effort": ("MMT_EFFORT_", _library.EFFORTS)}


def questions():
    """C expressions, each with what the package says."""
    for name, struct in _library.STRUCTS.items():
        yield f"sizeof({name})", ctypes.sizeof(struct)
        for field, *_ in struct._fields_:
            yield f"offsetof({name}, {field})", getattr(struct, field).offset
            yield f"sizeof((({name} *) 0)->{field})", getattr(struct, field).size
    for prefix, names in ENUMS.values():
        for value, word in enumerate(names):
            none = "MMT_ACTIVATION_NONE" if names is _library.ACTIVATIONS and word == "none" else prefix + word.upper()
            yield none, value


def members(name):
    """The members that the header gives a struct or an enum."""
    body = re.search(r"typedef (?:struct|enum) mmt_" + name + r" \{(.*?)^\} mmt_" + name + ";", HEADER,
                     re.DOTALL | re.MULTILINE)[1]
    return re.sub(r"/\*.*?\*/", "", body, flags=re.DOTALL)


asked = list(questions())
with tempfile.TemporaryDirectory(prefix="mmtune-test-") as folder:
    program = pathlib.Path(folder, "ask.c")
    program.write_text("#include <mmtune/mmtune.h>\n#include <stdio.h>\nint main(void)\n{\n"
                       + "".join(f'    printf("%ld\\n", (long) ({c}));\n' for c, _ in asked) + "}\n", encoding="utf-8")
    subprocess.run([*COMPILER, "-I" + SOURCE + "/include", str(program), "-o", folder + "/ask"], check=True)
    answers = subprocess.run([folder + "/ask"], check=True, capture_output=True, text=True).stdout.split()
for (expression, ours), answer in zip(asked, answers):
    check(ours == int(answer), f"{expression} is {answer}, the package has {ours}")

for name, struct in _library.STRUCTS.items():
    count = sum(len(line.split(",")) for line in members(name[4:]).split(";") if line.strip())
    check(count == len(struct._fields_), f"{name} has {count} members, the package {len(struct._fields_)}")
for name, (_, words) in ENUMS.items():
    count = len(re.findall(r"MMT_\w+", members(name)))
    check(count == len(words), f"mmt_{name} has {count} values, the package {len(words)}")
check(len(re.findall(r"MMT_ERROR_\w+", members("status"))) == len(_errors.BY_STATUS), "each status has an exception")
parts = re.findall(r"#define MMT_VERSION_\w+ (\d+)", HEADER)
check(mmtune.__version__ == ".".join(parts), f"the library is {mmtune.__version__}, the header {'.'.join(parts)}")

problem = mmtune.Problem(5, 6, 7, "f16", trans_b=True, bias="n", activation="gelu", out="f32")._struct()
check((problem.m, problem.n, problem.k, problem.trans_b, problem.bias, problem.activation, problem.out)
      == (5, 6, 7, 1, 2, 2, 0), "a Problem fills in the struct")
check(typing.get_type_hints(mmtune.Problem)["m"] is int, "its annotations can be read")
try:
    mmtune.Plan(4, 4, -1, device="null:sm_90")
    check(False, "k = -1 is refused")
except mmtune.UnsupportedError as error:
    print(f"no null device: {error}")
except ValueError as error:
    check(error.argument == "k" and error.status == "argument" and "-1" in str(error), f"the sentence: {error}")
try:
    import mmtune.torch
    check(callable(mmtune.torch.register_inductor), "with PyTorch it is there")
except ImportError as error:
    check("mmtune.torch needs PyTorch" in str(error), f"without PyTorch it says why: {error}")
end("python structs")
