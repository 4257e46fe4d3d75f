#!/usr/bin/env python3
"""Checks row files (JSON lines) against docs/reference/row-schema.json.

    scripts/check_rows.py [--schema FILE] ROWS.jsonl ...

Prints one line per fault and exits 1 if there is any, 2 if a file cannot be read, 0 otherwise. Standard library only: it supports the
JSON Schema (draft-07) keywords that the schema uses, and refuses a schema that uses another one rather than ignore it.
"""

import argparse
import json
import pathlib
import re
import sys

TYPES = {
    "object": lambda v: isinstance(v, dict),
    "array": lambda v: isinstance(v, list),
    "string": lambda v: isinstance(v, str),
    "boolean": lambda v: isinstance(v, bool),
    "null": lambda v: v is None,
    "integer": lambda v: isinstance(v, int) and not isinstance(v, bool),
    "number": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
}
WORDS_ONLY = {"$schema", "title", "description", "definitions"}


def same(a, b):
    """Equality of JSON: true is not 1."""
    return a == b and isinstance(a, bool) == isinstance(b, bool)


class Checker:
    def __init__(self, schema):
        self.root = schema

    def resolve(self, ref):
        node = self.root
        for part in ref.removeprefix("#/").split("/"):
            node = node[part]
        return node

    def check(self, value, schema, path="row"):
        """Yields a sentence per fault of value."""
        for keyword, rule in schema.items():
            if keyword in WORDS_ONLY:
                continue
            method = getattr(self, "rule_" + keyword.strip("$"), None)
            if method is None:
                raise ValueError(f"the schema uses '{keyword}', which this checker does not know")
            yield from method(value, rule, path, schema)

    def rule_ref(self, value, rule, path, _):
        yield from self.check(value, self.resolve(rule), path)

    def rule_type(self, value, rule, path, _):
        names = rule if isinstance(rule, list) else [rule]
        if not any(TYPES[name](value) for name in names):
            yield f"{path}: expected {' or '.join(names)}, found {json.dumps(value)[:60]}"

    def rule_enum(self, value, rule, path, _):
        if not any(same(value, allowed) for allowed in rule):
            yield f"{path}: {json.dumps(value)[:60]} is not one of {json.dumps(rule)}"

    def rule_anyOf(self, value, rule, path, _):
        if all(any(True for _ in self.check(value, option, path)) for option in rule):
            yield f"{path}: {json.dumps(value)[:60]} fits no alternative"

    def rule_required(self, value, rule, path, _):
        if isinstance(value, dict):
            yield from (f"{path}: '{key}' is missing" for key in rule if key not in value)

    def rule_properties(self, value, rule, path, _):
        if isinstance(value, dict):
            for key, inner in rule.items():
                if key in value:
                    yield from self.check(value[key], inner, f"{path}.{key}")

    def rule_additionalProperties(self, value, rule, path, schema):
        if rule is not True and isinstance(value, dict):
            extra = [key for key in value if key not in schema.get("properties", {})]
            yield from (f"{path}: '{key}' is unknown" for key in extra)

    def rule_items(self, value, rule, path, _):
        if isinstance(value, list):
            for i, item in enumerate(value):
                yield from self.check(item, rule, f"{path}[{i}]")

    def rule_minimum(self, value, rule, path, _):
        if TYPES["number"](value) and value < rule:
            yield f"{path}: {value} is below {rule}"

    def rule_minLength(self, value, rule, path, _):
        if isinstance(value, str) and len(value) < rule:
            yield f"{path}: is too short"

    def rule_pattern(self, value, rule, path, _):
        if isinstance(value, str) and not re.search(rule, value):
            yield f"{path}: '{value}' does not match {rule}"


def refuse_constant(token):
    raise ValueError(f"the bare token {token} is in a row: write it as a string")


def check_file(checker, path):
    """Yields a sentence per fault of a file."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line, parse_constant=refuse_constant)
        except ValueError as error:
            yield f"{path}:{number}: no JSON: {error}"
            continue
        yield from (f"{path}:{number}: {fault}" for fault in checker.check(row, checker.root))


def main():
    default = pathlib.Path(__file__).resolve().parent.parent / "docs" / "reference" / "row-schema.json"
    parser = argparse.ArgumentParser(description="checks row files against the schema")
    parser.add_argument("--schema", type=pathlib.Path, default=default)
    parser.add_argument("rows", type=pathlib.Path, nargs="+")
    args = parser.parse_args()
    faults = 0
    try:
        checker = Checker(json.loads(args.schema.read_text(encoding="utf-8")))
        for path in args.rows:
            for fault in check_file(checker, path):
                print(fault)
                faults += 1
    except (OSError, UnicodeDecodeError) as error:
        print(f"check_rows: {error}", file=sys.stderr)
        return 2
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
