#!/usr/bin/env python3
"""Write functions that jump to others of the same names: make_forwards.py NAMES MACHINE OUT

NAMES is a file with one symbol a line ('#' begins a comment). OUT becomes assembly for the
MACHINE, x86_64 or aarch64: a function for each name, which jumps to where its place in the
table mmt_forward_slots points, with all its arguments as they are; and mmt_forward_names, the
names, each ended by a zero byte, in the order of the table, with an empty one at the end.
Who loads the library fills the table before the first call."""
import sys

# Each starts with a landing pad for indirect branches: endbr64, and bti c as older assemblers know it.
JUMPS = {
    "x86_64": "    endbr64\n    jmp *mmt_forward_slots+{at}(%rip)\n",
    "aarch64": "    hint 34\n    adrp x16, mmt_forward_slots+{at}\n"
               "    ldr x16, [x16, #:lo12:mmt_forward_slots+{at}]\n    br x16\n",
}
FUNCTION = """    .globl {name}
    .type {name}, %function
{name}:
{jump}    .size {name}, . - {name}
"""
TABLES = """    .bss
    .balign 8
    .globl mmt_forward_slots
    .hidden mmt_forward_slots
    .type mmt_forward_slots, %object
mmt_forward_slots:
    .zero {bytes}
    .size mmt_forward_slots, {bytes}
    .section .rodata
    .globl mmt_forward_names
    .hidden mmt_forward_names
mmt_forward_names:
{names}    .byte 0
    .section .note.GNU-stack, "", %progbits
"""


def read_names(path):
    with open(path) as file:
        lines = [line.split("#")[0].strip() for line in file]
    names = [line for line in lines if line]
    wrong = [name for name in names if not name.replace("_", "a").isalnum()]
    twice = sorted({name for name in names if names.count(name) > 1})
    for name in wrong:
        sys.exit("make_forwards.py: %r in %s is no symbol of a function" % (name, path))
    for name in twice:
        sys.exit("make_forwards.py: %s stands in %s twice; it must once" % (name, path))
    return names


def assembly(names, machine):
    functions = [FUNCTION.format(name=name, jump=JUMPS[machine].format(at=8 * i))
                 for i, name in enumerate(names)]
    texts = ["    .asciz \"%s\"\n" % name for name in names]
    return "    .text\n" + "".join(functions) + TABLES.format(
        bytes=8 * len(names), names="".join(texts))


def main():
    if len(sys.argv) != 4 or sys.argv[2] not in JUMPS:
        sys.exit(__doc__)
    with open(sys.argv[3], "w") as out:
        out.write(assembly(read_names(sys.argv[1]), sys.argv[2]))


if __name__ == "__main__":
    main()
