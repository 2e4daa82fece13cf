"""Compares device/cuda_api.h with a toolkit's cuda.h and nvrtc.h: values, sizes, offsets, prototypes.

run_cuda_api.py ROOT TOOLKIT COMPILER...   a C++ compiler; TOOLKIT/include need not exist

One program is compiled with our header and with theirs, and prints a table of all that ours has. A third one has ours with
mistakes in it, each of which must be found. Exit status 77 where no toolkit's headers are found."""
import os
import re
import subprocess
import sys
import tempfile

OLDEST = 12000  # of the toolkits that know all that we declare

MISTAKES = [  # of each sort one: what stands in our header, what to put there, the row that must differ
    ("CU_FUNC_ATTRIBUTE_NUM_REGS = 4", "CU_FUNC_ATTRIBUTE_NUM_REGS = 5", "value CU_FUNC_ATTRIBUTE_NUM_REGS"),
    ("void *unused[8]", "void *unused[7]", "size CUlaunchAttributeValue"),
    ("size_t WidthInBytes, Height", "size_t Height, WidthInBytes", "member CUDA_MEMCPY2D Height"),
    ("cuMemAlloc_v2(CUdeviceptr *memory, size_t bytes)", "cuMemAlloc_v2(CUdeviceptr *memory, unsigned bytes)",
     "function cuMemAlloc_v2"),
]


def rows_of_struct(body, name):
    """Its members, also those of a struct within, but for what is unused."""
    inner = {}
    for members, outer in re.findall(r"struct \{([^}]*)\} (\w+);", body):
        inner[outer] = members
        body = body.replace("struct {%s} %s;" % (members, outer), "struct %s;" % outer)
    for prefix, text in [("", body)] + [(outer + ".", members) for outer, members in inner.items()]:
        for statement in re.sub(r" __attribute__\(\(.*?\)\)(?=;)", "", text).split(";"):
            for member in re.findall(r"(\w+)(?:\[\w+\])?\s*(?:,|$)", statement):
                if member != "unused":
                    yield 'MEMBER(%s, %s%s)' % (name, prefix, member)


def rows(header):
    """A line of C++ for each thing that a header has."""
    text = re.sub(r"/\*.*?\*/", "", header, flags=re.S)
    for name in re.findall(r"(\w+) = -?\d+", text):
        yield "VALUE(%s)" % name
    for name in re.findall(r"^typedef [^{;(]*?(\w+);|^\} (\w+);|^typedef void \(\*(\w+)\)", text, re.M):
        yield "SIZE(%s)" % "".join(name)
    for body, name in re.findall(r"^typedef (?:struct|union) \w+ \{\n(.*?)^\} (\w+);", text, re.M | re.S):
        yield from rows_of_struct(body.strip(), name)
    for name in re.findall(r"^(?:\w+ )+\*?(\w+)\(", text, re.M):
        yield "FUNCTION(%s)" % name


PROGRAM = """#include <stddef.h>
#include <stdio.h>
#include <typeinfo>
#define VALUE(name) printf("value %%s: %%lld\\n", #name, (long long) name);
#define SIZE(name) printf("size %%s: %%zu bytes\\n", #name, sizeof(name));
#define MEMBER(type, name) printf("member %%s %%s: byte %%zu, %%zu bytes\\n", #type, #name, \\
                                  offsetof(type, name), sizeof(((type *) 0)->name));
#define FUNCTION(what) printf("function %%s: %%s\\n", #what, typeid(decltype(what)).name());
int main()
{
    %s
}
"""


def table(compiler, folder, includes, lines):
    """What the program prints, a row by what it is of."""
    source, program = os.path.join(folder, "table.cpp"), os.path.join(folder, "table")
    with open(source, "w", encoding="utf-8") as f:
        f.write(includes + PROGRAM % "\n    ".join(lines))
    subprocess.run(compiler + ["-std=gnu++11", "-w", "-o", program, source], check=True)
    printed = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    return dict(line.split(": ", 1) for line in printed.splitlines())


def toolkit_version(compiler):
    """CUDA_VERSION of the headers that the compiler finds, or None."""
    text = "#include <cuda.h>\n#include <nvrtc.h>\nfound CUDA_VERSION\n"
    done = subprocess.run(compiler + ["-E", "-P", "-x", "c++", "-"], input=text, capture_output=True, text=True, check=False)
    found = re.search(r"^found\s+(\d+)$", done.stdout, re.M)
    return int(found.group(1)) if found and done.returncode == 0 else None


def different(ours, theirs):
    return ["%s: %s, the toolkit has %s" % (row, ours[row], theirs.get(row)) for row in ours if ours[row] != theirs.get(row)]


def main(root, toolkit, *compiler):
    compiler = list(compiler)
    with_toolkit = compiler + ["-I" + os.path.join(toolkit, "include")]
    version = toolkit_version(with_toolkit)
    if version is None or version < OLDEST:
        print("cuda.h and nvrtc.h of CUDA %d.0 or newer are neither in %s/include nor among the compiler's own headers"
              % (OLDEST // 1000, toolkit))
        return 77
    with open(os.path.join(root, "device/cuda_api.h"), encoding="utf-8") as f:
        header = f.read()
    lines, wrong = list(rows(header)), header
    for right, mistake, _ in MISTAKES:
        assert right in header, "%s is not in device/cuda_api.h" % right
        wrong = wrong.replace(right, mistake)
    with tempfile.TemporaryDirectory() as folder:
        theirs = table(with_toolkit, folder, "#include <cuda.h>\n#include <nvrtc.h>\n", lines)
        ours = table(compiler, folder, header, lines)
        planted = different(table(compiler, folder, wrong, lines), theirs)
    found = different(ours, theirs)
    found += ["a mistake was planted and not found: " + row for _, _, row in MISTAKES
              if not any(line.startswith(row + ":") for line in planted)]
    print("\n".join(found + ["%d rows compared with CUDA %d.%d, %d differ"
                             % (len(ours), version // 1000, version % 1000 // 10, len(found))]))
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
