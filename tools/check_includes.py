#!/usr/bin/env python3
"""Hold the arrows between modules: check_includes.py ROOT

Every #include of a module must lead to a module that it may know. Prints each one that does
not, as FILE:LINE, with the modules that are allowed, and exits 1.

check_includes.py --self-check plants wrong includes in a temporary tree and exits 1
unless each of them, and nothing else, is found."""
import fnmatch
import os
import re
import sys
import tempfile

BELOW = ["runtime", "costmodel", "profiles", "bundle", "generator", "templates", "device", "recording", "base", "include"]

# Each module, and those that its files may include. A module of tuner/ has a path of two names.
MODULES = {
    "include": [],
    "base": ["include"],
    "recording": ["base", "include"],
    "templates": ["base", "include"],
    "generator": ["templates", "base", "include"],
    "device": ["base", "include"],
    "bundle": ["generator", "templates", "base", "include"],
    "profiles": ["bundle", "generator", "templates", "base", "include"],
    "costmodel": ["profiles", "bundle", "generator", "templates", "base", "include"],
    "runtime": BELOW[1:],
    "dropin": BELOW,
    "tuner/common": BELOW,
    "tuner/search": BELOW,
    "tuner/verify": BELOW,
    "tuner/measure": ["tuner/common", "tuner/verify"] + BELOW,
    "tuner/bench": ["dropin", "tuner/common", "tuner/measure", "tuner/verify"] + BELOW,
    "tuner/worker": ["tuner/bench", "tuner/common", "tuner/measure", "tuner/verify"] + BELOW,
    "tuner/journal": ["tuner/worker"] + BELOW,
    "tuner/model": ["tuner/common", "tuner/journal", "tuner/measure"] + BELOW,
    "tuner/report": ["tuner/bench", "tuner/common", "tuner/journal", "tuner/measure", "tuner/model"] + BELOW,
    "tuner/tune": ["tuner/bench", "tuner/common", "tuner/journal", "tuner/measure", "tuner/model",
                   "tuner/search", "tuner/worker"] + BELOW,
    "tuner/bundle": ["tuner/common", "tuner/model"] + BELOW,
    "studies": ["include"],
    "studies/tests": ["studies", "tests", "examples", "include"],
    "tuner/cli": ["tuner/bench", "tuner/bundle", "tuner/common", "tuner/journal", "tuner/measure", "tuner/model",
                  "tuner/report", "tuner/search", "tuner/tune", "tuner/verify", "tuner/worker"] + BELOW,
}
# Headers that a module may include beside its modules: what a program of its own shares with `mmtune`, and
# what examples keep on the C library alone. These in turn include the public headers alone.
SHARED = {
    "studies": ["tuner/common/command.h", "tuner/common/table_data.h", "examples/dense/sizes.h", "examples/pyramids.h"],
}
FREE = ["tests", "examples", "tools", "docs", "python"]

# Headers from outside, and the only files that may include them.
OUTSIDE = [
    ("own_paths.h", ["base/place.c", "runtime/find.c", "tuner/cli/run.c"]),  # made by the build
    ("jansson.h", ["profiles/*", "recording/read.c", "tuner/*", "studies/*"]),
    ("cuda*.h", []),
    ("nvrtc.h", []),
    ("nvml.h", []),
    ("CL/*", ["device/opencl*", "dropin/clblast/*"]),
]
# Headers of the project that name a vendor's types, and the only files that may see them.
PRIVATE = [
    ("device/cuda*.h", ["device/cuda*", "device/nvrtc*", "tests/*"]),
    ("device/opencl*.h", ["device/opencl*", "dropin/clblast/*", "tests/*"]),
]
PUBLIC_MAY = ["stddef.h", "stdint.h"]

INCLUDE = re.compile(
    r'^[ \t]*#[ \t]*include\b[ \t]*(?:"([^"\n]*)"|<([^>\n]*)>|(.*))', re.M)
COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.S)


def blank_comments(text):
    def blank(match):
        found = match.group()
        return found if found[0] == '"' else re.sub(r"[^\n]", " ", found)

    return COMMENT.sub(blank, text)


def module_of(path):
    """The module that a file belongs to, or the folder of one that belongs to none."""
    words = path.split("/")
    inner = "/".join(words[:2])
    return inner if inner in MODULES else words[0]


def sources(root, module):
    for folder, _, names in os.walk(os.path.join(root, module)):
        for name in sorted(names):
            if name.endswith((".c", ".h", ".cl", ".cu", ".fn")):
                yield os.path.relpath(os.path.join(folder, name), root)


def is_kernel_text(path):
    return path.endswith((".cl", ".cu")) or fnmatch.fnmatch(path, "templates/kernels/*")


def file_of(root, path, name, quoted):
    """The file of the project that an include leads to, or None where it leads out."""
    beside = os.path.normpath(os.path.join(os.path.dirname(path), name))
    for inside in ([beside] if quoted else []) + [name, os.path.join("include", name)]:
        if module_of(inside) in list(MODULES) + FREE \
                and os.path.isfile(os.path.join(root, inside)):
            return inside
    return None


def is_kept_from(path, name, table):
    """Why a file may not include that name, by one of the tables above; else None."""
    for pattern, allowed in table:
        if fnmatch.fnmatch(name, pattern) \
                and not any(fnmatch.fnmatch(path, a) for a in allowed):
            return "%s is for %s alone" % (name, " and ".join(allowed) or "tests")
    return None


def complaint_outside(path, module, name, quoted):
    why = is_kept_from(path, name, OUTSIDE)
    if why or any(fnmatch.fnmatch(name, pattern) for pattern, _ in OUTSIDE):
        return why
    if quoted:
        return '"%s" is no file here; write it from the root, "module/file.h"' % name
    if module == "include" and name not in PUBLIC_MAY:
        return "<%s> in a public header, which may include %s and <mmtune/...>" % (
            name, " and ".join("<%s>" % n for n in PUBLIC_MAY))
    return None


def complaint(root, path, module, match):
    if is_kernel_text(path):
        return "a kernel's text includes nothing: compilers at run time have no headers"
    name, quoted = match.group(1) or match.group(2), match.group(1) is not None
    if not name:
        return "an include that cannot be read: %s" % match.group(0).strip()
    target = file_of(root, path, name, quoted)
    if target is None:
        return complaint_outside(path, module, name, quoted)
    if any(path in files for files in SHARED.values()):
        allowed = ["include"]
    else:
        allowed = [module] + MODULES[module]
    if module_of(target) not in allowed and target not in SHARED.get(module, []):
        return "%s may not know %s; allowed: %s" % (module, target, ", ".join(allowed))
    return is_kept_from(path, target, PRIVATE)


def check_file(root, path, module):
    with open(os.path.join(root, path), encoding="utf-8") as f:
        text = blank_comments(f.read())
    for match in INCLUDE.finditer(text):
        why = complaint(root, path, module, match)
        if why:
            yield "%s:%d: %s" % (path, text.count("\n", 0, match.start()) + 1, why)


def unknown_modules(root):
    """Folders that the build knows and this page does not."""
    known = {name.split("/")[0] for name in MODULES}
    for name in sorted(os.listdir(root)):
        if name not in known and name not in FREE \
                and os.path.isfile(os.path.join(root, name, "meson.build")):
            yield "%s/meson.build:1: %s is no module of tools/check_includes.py" % (name, name)
    for module in sorted(known - set(MODULES)):
        for path in sources(root, module):
            if module_of(path) not in MODULES:
                yield "%s:1: lies in no module of tools/check_includes.py" % path


def check(root):
    """All complaints, and how many files were read."""
    found, files = list(unknown_modules(root)), 0
    for module in MODULES:
        for path in sources(root, module):
            if module_of(path) == module:
                files += 1
                found += check_file(root, path, module)
    return found, files


RIGHT = {
    "include/mmtune/mmtune.h": "#include <stddef.h>\n",
    "include/mmtune/cuda.h": "#include <mmtune/mmtune.h>\n",
    "base/text.h": "#include <stdlib.h>\n#include <mmtune/mmtune.h>\n",
    "recording/read.c": '#include <jansson.h>\n#include "base/text.h"\n',
    "templates/template.h": '#include "base/text.h"\n// #include "device/device.h"\n',
    "generator/generator.h": '#include "templates/template.h"\n',
    "device/device.h": '#include "base/text.h"\n',
    "device/cuda.c": '#include "device/cuda_api.h"\n#include "device.h"\n#include "cuda.fn"\n',
    "device/cuda_api.h": "#include <stdint.h>\n",
    "device/cuda.fn": "FN(cuInit)\n",
    "device/opencl_program.c": '#include "opencl_all.h"\n',
    "device/opencl_all.h": "#include <CL/cl.h>\n",
    "profiles/json.c": '#include <jansson.h>\n#include "generator/generator.h"\n',
    "runtime/runtime.h": '#include "device/device.h"\n#include "generator/generator.h"\n',
    "studies/study.c": '#include "study.h"\n#include "../tuner/common/table_data.h"\n#include <jansson.h>\n',
    "studies/study.h": "#include <mmtune/mmtune.h>\n",
    "studies/tests/test.c": '#include "studies/study.h"\n#include "tests/test.c"\n',
    "tuner/common/suites.h": '#include "base/text.h"\n',
    "tuner/common/table_data.h": "#include <mmtune/mmtune.h>\n",
    "tuner/cli/main.c": '#include "runtime/runtime.h"\n#include <jansson.h>\n',
    "tests/test.c": '#include "device/device.h"\n#include <CL/cl.h>\n',
    "tests/meson.build": "",
}
WRONG = [  # file, text, line of the complaint
    ("recording/wrong.c", '#include "runtime/runtime.h"\n', 1),
    ("recording/wrong_2.c", "#include <jansson.h>\n", 1),
    ("base/wrong.c", '\n#include "templates/template.h"\n', 2),
    ("templates/wrong.c", '#include "../generator/generator.h"\n', 1),
    ("generator/wrong.c", '/* a\n b */\n#  include "device/device.h"\n', 3),
    ("device/wrong.c", '#include "templates/template.h"\n', 1),
    ("device/wrong_2.c", "#include <CL/cl.h>\n", 1),
    ("device/wrong_3.c", '#include "device/opencl_all.h"\n', 1),
    ("device/cuda_wrong.c", "#include <cuda.h>\n", 1),
    ("device/wrong_4.c", '#include "device/cuda_api.h"\n', 1),
    ("profiles/wrong.c", '#include "runtime/runtime.h"\n', 1),
    ("runtime/wrong.c", "#include <jansson.h>\n", 1),
    ("runtime/wrong_2.c", "#include <cuda.h>\n", 1),
    ("tuner/cli/wrong.c", '#include "tests/test.c"\n', 1),
    ("tuner/cli/wrong_2.c", '#include "nowhere.h"\n', 1),
    ("tuner/cli/wrong_3.c", "#include SOMETHING\n", 1),
    ("tuner/common/wrong.c", '#include "tuner/measure/stats.h"\n', 1),
    ("tuner/wrong.c", "", 1),
    ("studies/wrong.c", '#include "tuner/measure/stats.h"\n', 1),
    ("studies/wrong_2.c", '#include "../base/text.h"\n', 1),
    ("studies/wrong_3.c", '#include "../tuner/common/suites.h"\n', 1),
    ("tuner/common/command.h", '#include "base/text.h"\n', 1),
    ("templates/kernels/wrong.cl", "\n\n#include <stdint.h>\n", 3),
    ("include/mmtune/wrong.h", "#include <CL/cl.h>\n", 1),
    ("include/mmtune/wrong_2.h", "#include <sys/types.h>\n", 1),
    ("cellar/meson.build", "", 1),
]


def plant(root, path, text):
    path = os.path.join(root, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def self_check():
    with tempfile.TemporaryDirectory() as root:
        for path, text in RIGHT.items():
            plant(root, path, text)
        found, _ = check(root)
        failures = ["complains of a right include: " + line for line in found]
        for path, text, line in WRONG:
            plant(root, path, text)
            found, _ = check(root)
            if len(found) != 1 or not found[0].startswith("%s:%d: " % (path, line)):
                failures.append("%s:%d was planted, found: %s" % (path, line, found))
            os.remove(os.path.join(root, path))
    print("\n".join(failures + ["%d wrong includes planted, %d failures"
                                % (len(WRONG), len(failures))]))
    return bool(failures)


def main(arguments):
    if arguments == ["--self-check"]:
        return self_check()
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    found, files = check(arguments[0])
    print("\n".join(found + ["%d files, %d wrong includes" % (files, len(found))]))
    return bool(found) or files == 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
