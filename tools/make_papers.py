#!/usr/bin/env python3
"""Make the profiles of the papers' cards from a list of published times.

    tools/make_papers.py PUBLISHED.json profiles/papers

The list holds one record for each figure that a paper prints: source, device, api, dtype,
algorithm, n, seconds, note. Taken are the matrix products of the two cards below; array
additions and differences between cards are no problems of ours and are left out, which the
script says. A record whose note says "suspect" keeps its note, and is marked.
"""
import json
import os
import sys

# What the paper says of its cards; GFLOP/s at the boost clock and GB/s by their vendor, who tells none of i32.
CARDS = {
    "NVIDIA GeForce GTX 1060 6 GB": ("geforce-gtx-1060.json", "sm_61", {"f32": 4372.0, "f64": 136.6, "i32": 0.0}, 192.0),
    "NVIDIA Quadro K5000 4 GB": ("quadro-k5000.json", "sm_30", {"f32": 2169.0, "f64": 90.4, "i32": 0.0}, 173.0),
}
COMPILER = "CUDA 8.0"
TYPES = {"float": "f32", "double": "f64", "int": "i32"}

# The paper's name of a kernel, and the knobs of ours that it decides.
KERNELS = {
    "naive": ("naive", "naive BLOCK_M={b} BLOCK_N={b}"),
    "shared_conflict": ("shared", "tiled TILE={b} SHARED_LAYOUT=plain WORK=1"),
    "shared_padded": ("extra column", "tiled TILE={b} SHARED_LAYOUT=pad WORK=1"),
    "shared_index_swap": ("index swap", "tiled TILE={b} SHARED_LAYOUT=swap WORK=1"),
    "tiled_ilp": ("ILPx{ilp}", "tiled TILE={b} SHARED_LAYOUT=plain WORK={ilp}"),
}
WIDTH = 96


def problem(record):
    n = record["n"]
    return {"op": "gemm", "type": TYPES[record["dtype"]], "trans_a": False,
            "trans_b": False, "m": n, "n": n, "k": n, "lda": n, "ldb": n, "ldc": n,
            "batch": 1, "stride_a": 0, "stride_b": 0, "stride_c": 0}


def note(record):
    notes = [record["note"]] if record["note"] else []
    if record["includes_transfers"]:
        notes.append("the time includes copying to and from the card")
    basis = record["params"].get("block_basis")
    return "; ".join(notes + ([basis] if basis else []))


def published(record):
    params = record["params"]
    words = {"b": params["block"][0], "ilp": params.get("ilp")}
    kernel, configuration = (text.format(**words) for text in KERNELS[record["algorithm"]])
    return {"problem": problem(record), "kernel": kernel, "configuration": configuration,
            "time_us": record["seconds"] * 1e6, "where": record["source"]["where"],
            "suspect": "suspect" in record["note"],
            **({"with_copying": True} if record["includes_transfers"] else {}), "note": note(record)}


def profile(device, records):
    _, architecture, peaks, bandwidth = CARDS[device]
    citation = records[0]["source"]["citation"].replace("seed text", "text at hand")
    return {"format": 1, "citation": citation,
            "device": {"backend": "cuda", "name": device, "vendor": "NVIDIA",
                       "architecture": architecture, "driver": "", "compiler": COMPILER},
            "roofline": {"peak_gflops": peaks, "bandwidth_gbs": bandwidth},
            "published": [published(record) for record in records]}


def plain(value):
    if not isinstance(value, float):
        return json.dumps(value, ensure_ascii=False)
    text = format(value, ".9g")
    return text if set(text) & set(".e") else text + ".0"


def items(value):
    if isinstance(value, dict):
        return [(json.dumps(key) + ": ", item) for key, item in value.items()]
    return [("", item) for item in value]


def layout(value, depth=0, column=0):
    """The library's own layout, so that reading and writing a file changes nothing."""
    if not isinstance(value, (dict, list)):
        return plain(value)
    brackets = "[]" if isinstance(value, list) else "{}"
    pad = "\n" + "  " * (depth + 1)
    if any(isinstance(item, (dict, list)) for _, item in items(value)):
        lines = [pad + key + layout(item, depth + 1, len(pad) - 1 + len(key))
                 for key, item in items(value)]
        return brackets[0] + ",".join(lines) + "\n" + "  " * depth + brackets[1]
    return brackets[0] + fill(value, column + 1, pad) + brackets[1]


def fill(value, column, pad):
    out = ""
    for key, item in items(value):
        text = key + plain(item)
        if out and column + 1 + len(text.encode()) + 2 <= WIDTH:
            out, column = out + ", " + text, column + 2 + len(text.encode())
        elif out:
            out, column = out + "," + pad + text, len(pad) - 1 + len(text.encode())
        else:
            out, column = text, column + len(text.encode())
    return out


def main(argv):
    if len(argv) != 3:
        sys.exit("usage: make_papers.py PUBLISHED.json FOLDER")
    with open(argv[1], encoding="utf-8") as file:
        records = json.load(file)
    for device, (name, *_) in CARDS.items():
        of_card = [r for r in records if r["device"] == device]
        taken = [r for r in of_card if r["algorithm"] in KERNELS and r["seconds"]]
        if not taken:
            sys.exit(f"{argv[1]} has no matrix product of the card '{device}'")
        with open(os.path.join(argv[2], name), "w", encoding="utf-8") as file:
            file.write(layout(profile(device, taken)) + "\n")
        print(f"{name}: {len(taken)} of the {len(of_card)} records of {device}; "
              f"{len(of_card) - len(taken)} are not matrix products")


if __name__ == "__main__":
    main(sys.argv)
