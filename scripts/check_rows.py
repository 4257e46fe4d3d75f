#!/usr/bin/python3
"""Checks row files (JSON lines) against docs/reference/row-schema.json.

    scripts/check_rows.py [--schema FILE] ROWS.jsonl ...

Prints one line per fault and exits 1 if there is any, 2 if a file cannot be read, 0 otherwise.  Needs python3-jsonschema.
"""

import argparse
import json
import pathlib
import sys

import jsonschema


def refuse_constant(token):
    raise ValueError(f"the bare token {token} is in a row: write it as a string")


def check_file(validator, path):
    """Yields a sentence per fault of a file."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line, parse_constant=refuse_constant)
        except ValueError as error:
            yield f"{path}:{number}: not JSON: {error}"
            continue
        for fault in validator.iter_errors(row):
            yield f"{path}:{number}: {fault.json_path.replace('$', 'row', 1)}: {fault.message}"


def main():
    default = pathlib.Path(__file__).resolve().parent.parent / "docs" / "reference" / "row-schema.json"
    parser = argparse.ArgumentParser(description="checks row files against the schema")
    parser.add_argument("--schema", type=pathlib.Path, default=default)
    parser.add_argument("rows", type=pathlib.Path, nargs="+")
    args = parser.parse_args()
    faults = 0
    try:
        schema = json.loads(args.schema.read_text(encoding="utf-8"))
        jsonschema.Draft7Validator.check_schema(schema)
        for path in args.rows:
            for fault in check_file(jsonschema.Draft7Validator(schema), path):
                print(fault)
                faults += 1
    except (OSError, UnicodeDecodeError) as error:
        print(f"check_rows: {error}", file=sys.stderr)
        return 2
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
