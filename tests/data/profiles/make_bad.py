#!/usr/bin/env python3
"""Write the bad profiles: good/small.json, each with one thing wrong.

    make_bad.py FOLDER

FOLDER/expected.txt gets a line for each: the file, "refused" or how many entries, kernels
for unlisted shapes and models are left ("1+2+2"), and what must be said of it: of what is
read over, nothing. Profiles that were in the folder before are removed.
"""
import copy
import glob
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "../../..")
sys.path.insert(0, os.path.join(ROOT, "tools"))
from make_papers import layout  # noqa: E402


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


SMALL = load(os.path.join(HERE, "good/small.json"))
PAPER = load(os.path.join(ROOT, "profiles/papers/quadro-k5000.json"))
EXPECTED = []


def text_of(profile):
    return layout(profile) + "\n"


def bad(name, left, words, text):
    """One file of that text."""
    with open(os.path.join(FOLDER, name + ".json"), "wb") as file:
        file.write(text if isinstance(text, bytes) else text.encode())
    EXPECTED.append(f"{name}.json\t{left}\t{words}\n")


def change(name, left, words, edit, start=SMALL):
    """The good profile after an edit."""
    profile = copy.deepcopy(start)
    edit(profile)
    bad(name, left, words, text_of(profile))


def swap(name, left, words, old, new):
    """The good profile's text with something else in one place."""
    text = text_of(SMALL)
    assert old in text, (name, old)
    bad(name, left, words, text.replace(old, new, 1))


def within(path, **values):
    """An edit: sets values of an object, which is named by keys and indices."""
    def edit(profile):
        for step in path:
            profile = profile[step]
        profile.update(values)
    return edit


def without(path, key):
    """An edit: takes a key away."""
    def edit(profile):
        for step in path:
            profile = profile[step]
        del profile[key]
    return edit


LIMITS = ("device", "limits")
ENTRY = ("entries", 0)
KNOBS = ENTRY + ("knobs",)
TIME = ENTRY + ("time",)
PROBLEM = ENTRY + ("problem",)
UNLISTED = ("unlisted", 0)
MODEL = ("models", 0)
TREES = MODEL + ("trees",)


def texts():
    good = text_of(SMALL)
    refused = "refused"
    bad("empty", refused, "expected near end of file", "")
    bad("truncated", refused, "expected near end of file", good[:good.index('"models"')])
    bad("trailing", refused, "end of file expected near 'x'", good + "x\n")
    bad("deep", refused, "is nested more than 16 deep",
        '{"format": 1, "entries": ' + "[" * 40 + "]" * 40 + "}\n")
    bad("list", refused, "it is no profile", "[1, 2]\n")
    bad("utf8", refused, "unable to decode byte 0xff",
        good.encode().replace(b'"Vendor"', b'"V\xff"'))
    swap("duplicate", refused, "duplicate object key", '"backend"', '"name": "x", "backend"')
    swap("nul", refused, "\\u0000 is not allowed", '"Vendor"', '"a\\u0000b"')
    swap("escape", refused, 'device.vendor is "\\u001B[2J"; it must be a string without '
         'control characters', '"Vendor"', '"\\u001b[2J"')
    swap("nan", refused, "invalid token near 'NaN'", '"budget_s": 300.0', '"budget_s": NaN')
    swap("huge_real", refused, "real number overflow", '"budget_s": 300.0',
         '"budget_s": 1e999')
    swap("huge_whole", refused, "too big integer", '"tried": 1',
         '"tried": 99999999999999999999')


def heads():
    refused = "refused"

    def change_head(name, words, edit):
        change(name, refused, words, edit)

    change_head("format_missing", 'it is no profile: it does not begin with "format"',
                without((), "format"))
    change_head("format_newer", "its format is 2; this mmtune reads format 1",
                within((), format=2))
    change_head("format_word", 'its format is "1"; this mmtune reads format 1',
                within((), format="1"))
    change_head("format_real", "its format is 1.0; this mmtune reads format 1",
                within((), format=1.0))
    change_head("name_long", "device.name is 200 bytes long; it must be at most 127",
                within(("device",), name="x" * 200))
    change_head("name_number", "device.name is 7; it must be a string",
                within(("device",), name=7))
    change_head("missing", "made.date is missing", without(("made",), "date"))
    change_head("device_list", "device is an array; it must be an object",
                within((), device=[]))
    change_head("entries_object", "entries is an object; it must be an array",
                within((), entries={}))
    change_head("unlisted_word", 'unlisted is "none"; it must be an array',
                within((), unlisted="none"))
    change_head("models_object", "models is an object; it must be an array",
                within((), models={}))
    change_head("large_whole", "made.tried is 4294967296; it must be a whole number from 0 to "
                "2147483647", within(("made",), tried=2**32))
    change_head("negative", "device.limits.max_threads is -1; it must be a whole number from 0 "
                "to 4294967295", within(LIMITS, max_threads=-1))
    change_head("fraction", "device.limits.max_threads is 1024.5",
                within(LIMITS, max_threads=1024.5))
    change_head("grid_short", "device.limits.max_grid is an array; it must be an array of "
                "three whole numbers", within(LIMITS, max_grid=[1, 2]))
    change_head("grid_word", 'device.limits.max_grid is "a"',
                within(LIMITS, max_grid=["a", 2, 3]))
    change_head("dialect", 'device.limits.dialect is "metal"; it must be one of cuda, opencl',
                within(LIMITS, dialect="metal"))
    change_head("budget_negative", "made.budget_s is -3.0; it must be a number, at least 0",
                within(("made",), budget_s=-3.0))
    change_head("seed_large", 'made.seed is "18446744073709551616"; it must be a string of '
                "digits", within(("made",), seed="18446744073709551616"))
    change_head("seed_number", "made.seed is 5; it must be a string of digits",
                within(("made",), seed=5))
    change_head("f64_number", "device.limits.f64 is 1; it must be true or false",
                within(LIMITS, f64=1))


def entries():
    which = "entries[0] (gemm f32 nt 64x48x32) is left out: entries[0]."

    def change_entry(name, words, edit):
        change(name, "1+2+2", words, edit)

    change_entry("template", which + 'template is "titled"; it must be one of ',
                 within(ENTRY, template="titled"))
    change_entry("template_number", which + "template is 3; it must be one of ",
                 within(ENTRY, template=3))
    change_entry("knob_unknown", which + 'knobs has "FOO", which is no knob of tiled',
                 within(KNOBS, FOO=1))
    change_entry("knob_missing", which + "knobs.WORK is missing; tiled has that knob",
                 without(KNOBS, "WORK"))
    for name, value, shown in (("range", 17, "17"), ("huge", 2**63 - 1, str(2**63 - 1)),
                               ("truncates", 2**32 + 16, "4294967312"),
                               ("number_word", "16", '"16"'), ("real", 16.0, "16.0")):
        change_entry("knob_" + name, which + f"knobs.TILE is {shown}; it must be one of 8, 16, "
                     "32", within(KNOBS, TILE=value))
    for name, value, shown in (("word", "pda", '"pda"'), ("word_number", 1, "1")):
        change_entry("knob_" + name, which + f"knobs.SHARED_LAYOUT is {shown}; it must be one "
                     "of plain, pad, swap, pad_both, pad_aligned, swizzle", within(KNOBS, SHARED_LAYOUT=value))
    change_entry("knobs_list", which + "knobs is an array; it must be an object",
                 within(ENTRY, knobs=[]))
    change_entry("hash_long", which + "template_hash is 33 bytes long; it must be at most 32",
                 within(ENTRY, template_hash="0" * 33))
    change_entry("time_zero", which + "time.median_us is 0.0; it must be a number above 0",
                 within(TIME, median_us=0.0))
    change_entry("time_word", which + 'time.median_us is "fast"; it must be a number above 0',
                 within(TIME, median_us="fast"))
    change_entry("time_tiny", which + "time.median_us is ", within(TIME, median_us=5e-324))
    change_entry("spread_negative", which + "time.spread_us is -1; it must be a number, at "
                 "least 0", within(TIME, spread_us=-1))
    change_entry("samples_real", which + "time.samples is 9.5; it must be a whole number from "
                 "0 to 2147483647", within(TIME, samples=9.5))
    change_entry("entry_number", "entries[0] is left out: entries[0] is 7; it must be an "
                 "object",
                 lambda profile: profile["entries"].__setitem__(0, 7))


def problems():
    which = "entries[0] is left out: entries[0].problem"

    def change_problem(name, words, edit):
        change("problem_" + name, "1+2+2", words, edit)

    change_problem("ldc", "entries[0].problem: ldc is 8", within(PROBLEM, ldc=8))
    change_problem("large", "entries[0].problem: m is 3000000000",
                   within(PROBLEM, m=3000000000))
    change_problem("negative", which + ".m is -1; it must be a whole number",
                   within(PROBLEM, m=-1))
    change_problem("op", which + '.op is "axpy"; it must be one of gemm',
                   within(PROBLEM, op="axpy"))
    change_problem("type", which + '.type is "f31"; it must be one of f32, f64, i32',
                   within(PROBLEM, type="f31"))
    change_problem("out", which + '.out is "f8"; it must be one of f32',
                   within(PROBLEM, out="f8"))
    change_problem("output", "entries[0].problem: out is f16; for a product of bf16",
                   within(PROBLEM, type="bf16", out="f16"))
    change_problem("activation", "entries[0].problem: activation is gelu; of whole numbers",
                   within(PROBLEM, type="i32", activation="gelu"))
    change_problem("missing", which + " is missing", without(ENTRY, "problem"))


def item(path, index, value):
    """An edit: sets one item of a list."""
    def edit(profile):
        for step in path:
            profile = profile[step]
        profile[index] = value
    return edit


def unlisted():
    which = "unlisted[0] is left out: unlisted[0]."

    def change_kernel(name, words, edit):
        change(name, "2+1+2", which + words, edit)

    change_kernel("unlisted_template", 'template is "x"; it must be one of ',
                  within(UNLISTED, template="x"))
    change_kernel("unlisted_knob", "knobs.WORK is 3; it must be one of 1, 2, 4, 8",
                  within(UNLISTED + ("knobs",), WORK=3))
    change_kernel("unlisted_family", 'family is "f31"; it must be one of f32, f64, i32',
                  within(UNLISTED, family="f31"))
    change_kernel("right_word", 'right is "f32 nn"; it must be an array of types and transposes',
                  within(UNLISTED, right="f32 nn"))
    for name, value, shown in (("type", "f31 nn", '"f31 nn"'), ("transposes", "f32 xn", '"f32 xn"'),
                               ("more", "f32 nnn", '"f32 nnn"'), ("number", 1, "1"), ("empty", "", '""')):
        change_kernel("right_" + name, f"right is {shown}; it must be a type and transposes, as "
                      '"bf16 nt"', item(UNLISTED + ("right",), 1, value))


def models():
    which = "models[0] is left out: models[0]."

    def change_model(name, words, edit):
        change(name, "2+2+1", which + words, edit)

    def change_tree(name, words, place, value):
        change_model("tree_" + name, "trees is " + words, item(TREES + (0,), place, value))

    leaf = SMALL["models"][0]["trees"][0]
    change_model("model_family", 'family is "f31"; it must be one of f32, f64, i32',
                 within(MODEL, family="f31"))
    change_model("model_shapes", "shapes is -1; it must be a whole number from 0 to 2147483647",
                 within(MODEL, shapes=-1))
    change_model("model_law", 'law is "1"; it must be a whole number from 0 to 2147483647',
                 within(MODEL, law="1"))
    change_model("model_residual", "residual is -0.5; it must be a number, at least 0",
                 within(MODEL, residual=-0.5))
    change("model_features", "2+2+1", "models[0] is left out: its trees ask for other features", within(MODEL, features="m n k"))
    change("model_no_features", "2+2+1", "models[0] is left out: its trees ask for other features", without(MODEL, "features"))
    change_model("trees_object", "trees is an object; it must be an array of at most 160 trees",
                 within(MODEL, trees={}))
    change_model("trees_many", "trees is an array; it must be an array of at most 160 trees",
                 within(MODEL, trees=[leaf] * 161))
    for name, value in (("short", leaf[:-1]), ("long", leaf + [0])):
        change_model("tree_" + name, "trees is an array; it must be an array of 42 numbers",
                     item(TREES, 1, value))
    change_model("tree_number", "trees is 7; it must be an array of 42 numbers", item(TREES, 1, 7))
    for name, value, shown in (("large", 26, "26"), ("negative", -1, "-1"), ("real", 0.5, "0.5")):
        change_tree("feature_" + name, f"{shown}; it must be the number of a feature, 0 to 25", 8,
                    value)
    change_tree("bound_word", '"6.5"; it must be a number', 1, "6.5")
    change_tree("bound_large", "1e300; it must be a number", 1, 1e300)
    change_tree("leaf_word", '"1"; it must be a number', 41, "1")
    change_tree("leaf_large", "10001; it must be from -10000 to 10000", 41, 10001)
    change_tree("leaf_small", "-10001; it must be from -10000 to 10000", 10, -10001)


def read_over():
    """Models of other editions of the law, which correct nothing; kernels of older versions."""
    def change_silently(name, left, edit):
        change(name, left, "", edit)

    change_silently("law_none", "2+2+1", without(MODEL, "law"))
    change_silently("law_older", "2+2+1", within(MODEL, law=0))
    change_silently("law_newer", "2+2+1", within(MODEL, law=3))
    change_silently("portfolio", "2+2+2", within((), portfolio=[dict(SMALL["unlisted"][0], terms_us=[0.5])]))


def others():
    change("key_unknown", "2+2+2", 'entries[0] has an unknown key "colour", which is ignored',
           within(ENTRY, colour="red"))
    change("kept_old", "2+2+2", 'unknown key "kept", which is ignored',
           within((), kept=[{"type": "f32", "trans_a": False, "trans_b": False}]))
    change("hash", "2+2+2", "of templates that have changed since (tiled",
           within(ENTRY, template_hash="0"))
    change("citation_empty", "refused", "citation is empty; published figures must say whose "
           "they are", within((), citation=""), PAPER)
    change("published_zero", "8+0+0", "published[0] (gemm f32 nn 512x512x512) is left out: "
           "published[0].time_us is 0; it must be a number above 0",
           within(("published", 0), time_us=0), PAPER)


def main():
    for path in glob.glob(os.path.join(FOLDER, "*.json")):
        os.remove(path)
    texts()
    heads()
    entries()
    problems()
    unlisted()
    models()
    read_over()
    others()
    with open(os.path.join(FOLDER, "expected.txt"), "w", encoding="utf-8") as file:
        file.write("".join(EXPECTED))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    FOLDER = sys.argv[1]
    main()
