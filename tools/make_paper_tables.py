#!/usr/bin/env python3
"""Write the papers' published tables as rows of C, for `mmtune study`.

    tools/make_paper_tables.py PUBLISHED.json studies/papers.inc

Every record of the list becomes one row: paper, table, device, api, type, algorithm,
variant (phase of an addition, layout of a CPU product, work per thread), n, seconds and
GFLOP/s as printed (0: not printed), other printed quantities, and why it is suspect."""
import json
import sys

TYPES = {"float": "MMT_F32", "double": "MMT_F64", "int": "MMT_I32"}
PAPERS = {"000": "zatolokin", "003": "semenenko", "004": "gts250"}
QUANTITIES = ("delta_seconds", "overhead_seconds", "speedup", "efficiency")


def variant(record):
    params = record["params"]
    if "ilp" in params:
        return "%d" % params["ilp"]
    if "WPT" in params:
        return "%d" % params["WPT"]
    return params.get("phase") or params.get("layout") or ""


def suspicion(record):
    note = record["note"]
    return note[note.index("suspect"):] if "suspect" in note else None


def string(value):
    return "NULL" if value is None else json.dumps(value, ensure_ascii=True)


def row(record):
    n = record["params"].get("n_probable") or record["n"]
    quantity = next((record["params"][q] for q in QUANTITIES if q in record["params"]), 0)
    return "{ %s, %s, %s, %s, %s, %s, %s, %d, %r, %r, %r, %s }," % (
        string(PAPERS[record["source"]["seed"][:3]]), string(record["source"]["where"]),
        string(record["device"]), string(record["api"]), TYPES[record["dtype"]],
        string(record["algorithm"]), string(variant(record)), n, record["seconds"] or 0,
        record["gflops_published"] or 0, quantity, string(suspicion(record)))


def main(argv):
    if len(argv) != 3:
        sys.exit("usage: make_paper_tables.py PUBLISHED.json OUT.inc")
    with open(argv[1], encoding="utf-8") as file:
        records = json.load(file)
    with open(argv[2], "w", encoding="utf-8") as file:
        file.write("/* Written by tools/make_paper_tables.py. */\n")
        for record in records:
            file.write(row(record) + "\n")
    print("%s: %d rows" % (argv[2], len(records)))


if __name__ == "__main__":
    main(sys.argv)
