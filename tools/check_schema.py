#!/usr/bin/env python3
"""Check profiles against profiles/schema.json.

    tools/check_schema.py [--schema SCHEMA] [--complete] FILE...

Says what is wrong and where, and ends with 1; with 2 for wrong usage. --complete also asks
that every key of the schema is required or has a default, and that the files together use
all of them: so a test learns of a key that the writer does not write. Uses the package jsonschema as a second opinion where it is
installed. Words of JSON Schema that it does not know are an error, never passed over.
"""
import argparse
import json
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int,
         "number": (int, float), "null": type(None)}
SAID = {"$schema", "$defs", "title", "description", "default"}


def is_type(value, name):
    if isinstance(value, bool):
        return name == "boolean"
    return isinstance(value, TYPES[name])


def same(a, b):
    return a == b and isinstance(a, bool) == isinstance(b, bool)


class Checker:
    """Collects what is wrong with one value, and which keys of the schema were used."""

    def __init__(self, root):
        self.root = root
        self.used = set()

    def check(self, value, schema, where="profile"):
        """A list of sentences; empty where the value is right."""
        wrong = []
        for word, wanted in schema.items():
            if word in SAID:
                continue
            method = getattr(self, "on_" + word.replace("$", ""), None)
            if method is None:
                raise SystemExit(f"the schema has the word '{word}', which is not known here")
            wrong += method(value, wanted, schema, where)
        return wrong

    def on_ref(self, value, wanted, schema, where):
        found = self.root
        for part in wanted.lstrip("#/").split("/"):
            found = found[part]
        return self.check(value, found, where)

    def on_oneOf(self, value, wanted, schema, where):
        keep = self.used
        results = []
        for branch in wanted:
            self.used = set()
            results.append((self.check(value, branch, where), self.used))
        self.used = keep
        right = [used for wrong, used in results if not wrong]
        if len(right) == 1:
            self.used |= right[0]
            return []
        if right:
            return [f"{where} fits more than one of the shapes it may have"]
        return min((wrong for wrong, _ in results), key=len)

    def on_type(self, value, wanted, schema, where):
        names = wanted if isinstance(wanted, list) else [wanted]
        if any(is_type(value, name) for name in names):
            return []
        return [f"{where} is {json.dumps(value)[:40]}; it must be of type {' or '.join(names)}"]

    def on_const(self, value, wanted, schema, where):
        return [] if same(value, wanted) else [f"{where} is {value!r}; it must be {wanted!r}"]

    def on_enum(self, value, wanted, schema, where):
        if any(same(value, one) for one in wanted):
            return []
        return [f"{where} is {value!r}; it must be one of {', '.join(map(str, wanted))}"]

    def on_properties(self, value, wanted, schema, where):
        wrong = []
        for key, inner in wanted.items() if isinstance(value, dict) else ():
            if key in value:
                self.used.add((id(wanted), key))
                wrong += self.check(value[key], inner, f"{where}.{key}")
        return wrong

    def on_required(self, value, wanted, schema, where):
        if not isinstance(value, dict):
            return []
        return [f"{where}.{key} is missing" for key in wanted if key not in value]

    def on_additionalProperties(self, value, wanted, schema, where):
        if not isinstance(value, dict):
            return []
        others = [key for key in value if key not in schema.get("properties", {})]
        if wanted is False:
            return [f"{where} has the unknown key '{key}'" for key in others]
        return sum((self.check(value[key], wanted, f"{where}.{key}") for key in others), [])

    def on_propertyNames(self, value, wanted, schema, where):
        names = value if isinstance(value, dict) else ()
        return sum((self.check(name, wanted, f"{where}: the key") for name in names), [])

    def on_items(self, value, wanted, schema, where):
        items = enumerate(value) if isinstance(value, list) else ()
        return sum((self.check(v, wanted, f"{where}[{i}]") for i, v in items), [])

    def on_pattern(self, value, wanted, schema, where):
        if not isinstance(value, str) or re.search(wanted, value):
            return []
        return [f"{where} is {value[:40]!r}; it must match {wanted}"]


def limit(kinds, holds, what):
    """A word that bounds a value of some kinds."""
    def check(self, value, wanted, schema, where):
        if not isinstance(value, kinds) or isinstance(value, bool) or holds(value, wanted):
            return []
        return [f"{where} is {json.dumps(value)[:40]}; it must {what} {wanted}"]
    return check


for _word, _rule in {
        "minimum": ((int, float), lambda v, w: v >= w, "be at least"),
        "maximum": ((int, float), lambda v, w: v <= w, "be at most"),
        "exclusiveMinimum": ((int, float), lambda v, w: v > w, "be above"),
        "minLength": (str, lambda v, w: len(v) >= w, "have at least this many letters:"),
        "maxLength": (str, lambda v, w: len(v) <= w, "have at most this many letters:"),
        "minItems": (list, lambda v, w: len(v) >= w, "have at least this many items:"),
        "maxItems": (list, lambda v, w: len(v) <= w, "have at most this many items:"),
}.items():
    setattr(Checker, "on_" + _word, limit(*_rule))


def unused_keys(schema, used, where="schema"):
    if isinstance(schema, list):
        return sum((unused_keys(s, used, f"{where}[{i}]") for i, s in enumerate(schema)), [])
    if not isinstance(schema, dict):
        return []
    keys = schema.get("properties", {})
    missing = [f"{where}: no file has the key '{k}'" for k in keys if (id(keys), k) not in used]
    if {k for k in keys if "default" not in keys[k]} != set(schema.get("required", ())):
        missing.append(f"{where}: keys without a default must be required, and there; no other")
    return missing + sum((unused_keys(v, used, f"{where}.{k}") for k, v in schema.items()), [])


def refuse_twice(pairs):
    keys = [key for key, _ in pairs]
    for key in keys:
        if keys.count(key) > 1:
            raise ValueError(f"the key '{key}' is there twice")
    return dict(pairs)


def refuse_constant(name):
    raise ValueError(f"{name} is no number of JSON")


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file, object_pairs_hook=refuse_twice, parse_constant=refuse_constant)


def second_opinion(value, schema):
    try:
        import jsonschema
        validator = jsonschema.Draft202012Validator
    except (ImportError, AttributeError):
        return []
    return [f"jsonschema: {e.message[:200]}" for e in validator(schema).iter_errors(value)]


def main():
    parser = argparse.ArgumentParser(description="Check profiles against their schema.")
    parser.add_argument("--schema", default=os.path.join(HERE, "../profiles/schema.json"))
    parser.add_argument("--complete", action="store_true",
                        help="the files together must use every key of the schema")
    parser.add_argument("files", nargs="+", metavar="FILE")
    args = parser.parse_args()

    schema = load(args.schema)
    checker = Checker(schema)
    wrong = []
    for path in args.files:
        try:
            value = load(path)
        except (OSError, ValueError, RecursionError) as error:
            wrong.append(f"{path}: {error}")
            continue
        found = checker.check(value, schema) or second_opinion(value, schema)
        wrong += [f"{path}: {sentence}" for sentence in found]
    if args.complete:
        wrong += unused_keys(schema, checker.used)
    print("\n".join(wrong) if wrong else f"{len(args.files)} right")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
