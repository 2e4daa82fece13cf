#!/usr/bin/env python3
"""How a kernel's inner loop uses the register file of an NVIDIA Hopper multiprocessor.

    mmtune emit "simt FMA_ORDER=rows" --type f32 > kernel.cu
    nvcc -arch=sm_90a -cubin -o kernel.cubin kernel.cu
    tools/register_reads.py kernel.cubin ...

For the inner loop of multiply-adds it prints how many there are, how many other
instructions stand there, the share of multiply-adds that find 0, 1 or 2 operands kept from
the one before, how many find none and have all three in one bank, at how many the compiler
lets another warp go first (such a one keeps nothing), and the cycles each takes by the model
of docs/lab/fp32-on-hopper.md: two banks of registers, odd and even, one read a cycle each, a
queue two cycles deep. Waiting for memory and for barriers is not in it."""
import argparse
import re
import subprocess
import sys

PACE = {"FFMA": 1, "DFMA": 2, "IMAD": 2}    # cycles between two of a warp scheduler's
YIELD, REUSE = 45, 58           # bits of an instruction's upper 64


class Instruction:
    def __init__(self, text, upper):
        words = re.sub(r"^@!?U?P\w+\s+", "", text).split(None, 1)
        self.op = words[0]
        self.operands = [w.strip() for w in words[1].split(",")] if len(words) > 1 else []
        self.target = re.search(r"`\((\.L_x_\d+)\)", text) if self.op == "BRA" else None
        self.reads = [self.register(w) for w in self.operands[1:4]]
        self.multiplies = (self.op in PACE and len(self.reads) == 3
                           and None not in self.reads)
        self.yields = not upper >> YIELD & 1
        self.reused = [bool(upper >> REUSE + slot & 1) for slot in range(3)]

    @staticmethod
    def register(operand):
        found = re.match(r"[-|~]*R(\d+)", operand)
        return int(found.group(1)) if found else None


def disassemble(path):
    """The instructions of a cubin, and at which of them each label stands."""
    try:
        listing = subprocess.run(["nvdisasm", "-c", "-hex", path], capture_output=True, text=True)
    except FileNotFoundError:
        sys.exit("nvdisasm is not on the PATH; it comes with the CUDA toolkit")
    if listing.returncode:
        sys.exit(f"{path}: nvdisasm cannot read it: {listing.stderr.strip()}")
    code, labels, text = [], {}, None
    for line in listing.stdout.splitlines():
        label = re.match(r"\s*(\.L_x_\d+):", line)
        first = re.search(r"/\*[0-9a-f]{4,}\*/\s+(.*?)\s*;", line)
        second = re.search(r"^\s*/\* 0x([0-9a-f]{16}) \*/", line)
        if label:
            labels[label.group(1)] = len(code)
        elif first:
            text = first.group(1)
        elif second and text:
            code.append(Instruction(text, int(second.group(1), 16)))
            text = None
    return code, labels


def busiest_loop(code, labels):
    """The shortest loop with at least half as many multiply-adds as any: round it there may
    be one over tiles, with a few more at its end."""
    loops = []
    for end, instruction in enumerate(code):
        start = labels.get(instruction.target.group(1), end + 1) if instruction.target else end + 1
        body = code[start:end + 1]
        loops.append((sum(i.multiplies for i in body), body))
    most = max((count for count, _ in loops), default=0)
    return min((body for count, body in loops if 2 * count >= most), key=len, default=[])


def count_hits(body):
    """How many multiply-adds find 0, 1, 2 operands kept for them."""
    kept, hits = [None] * 3, [0] * 4
    for i in (i for i in body if i.multiplies):
        hits[sum(kept[slot] == i.reads[slot] for slot in range(3))] += 1
        kept = [i.reads[slot] if i.reused[slot] else None for slot in range(3)]
    return hits


def count_meeting(body):
    """How many multiply-adds find nothing kept and read three registers of one bank."""
    kept, meeting = [None] * 3, 0
    for i in (i for i in body if i.multiplies):
        read = {r for slot, r in enumerate(i.reads) if kept[slot] != r}
        meeting += len(read) == 3 and len({r % 2 for r in read}) == 1
        kept = [i.reads[slot] if i.reused[slot] else None for slot in range(3)]
    return meeting


def cycles(body, queue=2, passes=6):
    """Cycles a multiply-add, other instructions counted as one each that reads nothing."""
    free, now, kept, marks = [0, 0], 0, [None] * 3, []
    for _ in range(passes):
        for i in body:
            now += 1
            if not i.multiplies:
                continue
            reads, wide = [0, 0], i.op == "DFMA"
            for slot, register in enumerate(i.reads):
                if kept[slot] != register:
                    for r in range(register, register + 1 + wide):
                        reads[r % 2] += 1
                kept[slot] = register if i.reused[slot] else None
            while True:
                done = [max(free[bank], now) + reads[bank] for bank in (0, 1)]
                if max(done) - now <= max(queue + wide, *reads):
                    break
                now += 1
            free = done
            now += PACE[i.op] - 1
        marks.append(now)
    return (marks[-1] - marks[1]) / (passes - 2) / sum(i.multiplies for i in body)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cubin", nargs="+")
    for path in parser.parse_args().cubin:
        code, labels = disassemble(path)
        body = busiest_loop(code, labels)
        total = sum(i.multiplies for i in body)
        if not total:
            sys.exit(f"{path}: no loop with FFMA, DFMA or IMAD")
        hits = count_hits(body)
        yields = sum(i.multiplies and i.yields for i in body)
        print(f"{path}: {total} multiply-adds, {len(body) - total} others; operands kept: "
              f"none {hits[0] / total:.0%}, one {hits[1] / total:.0%}, two {hits[2] / total:.0%}; "
              f"{count_meeting(body)} in one bank; {yields} yields; {cycles(body):.2f} cycles each")


if __name__ == "__main__":
    main()
