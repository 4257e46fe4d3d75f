"""Rules of the Trace Event Format (the Catapult project's document), on a file given as argument; exits 1 with the first breach."""
import json
import sys

NEEDED = {"B": {"name", "cat", "ts"}, "E": {"ts"}, "X": {"name", "cat", "ts", "dur"}, "i": {"name", "ts", "s"}, "C": {"name", "ts", "args"},
          "M": {"name", "args"}}
NAMES = {"process_name", "thread_name", "process_labels", "process_sort_index", "thread_sort_index"}


def refuse(token):
    raise ValueError(f"{token} is no JSON")


def check(path):
    with open(path, encoding="utf-8") as f:
        document = json.load(f, parse_constant=refuse)
    assert set(document) <= {"traceEvents", "displayTimeUnit", "systemTraceEvents", "otherData", "stackFrames", "samples"}, set(document)
    assert document["displayTimeUnit"] in ("ms", "ns")
    stacks = {}
    for n, e in enumerate(document["traceEvents"]):
        phase = e["ph"]
        assert phase in NEEDED, f"event {n}: phase {phase}"
        assert NEEDED[phase] <= set(e), f"event {n}: {phase} lacks {NEEDED[phase] - set(e)}"
        assert isinstance(e["pid"], int) and isinstance(e["tid"], int), f"event {n}: ids"
        if "ts" in e:
            assert isinstance(e["ts"], (int, float)) and e["ts"] >= 0, f"event {n}: ts"
        stack = stacks.setdefault((e["pid"], e["tid"]), [])
        if phase == "B":
            stack.append(e["ts"])
        elif phase == "E":
            assert stack, f"event {n}: nothing is open on its track"
            assert stack.pop() <= e["ts"], f"event {n}: ends before it begins"
        elif phase == "X":
            assert e["dur"] >= 0, f"event {n}: dur"
        elif phase == "i":
            assert e["s"] in ("g", "p", "t"), f"event {n}: scope"
        elif phase == "C":
            assert e["args"] and all(isinstance(v, (int, float)) for v in e["args"].values()), f"event {n}: values are numbers"
        elif phase == "M":
            assert e["name"] in NAMES, f"event {n}: {e['name']}"
    open_ones = [k for k, v in stacks.items() if v]
    assert not open_ones, f"still open: {open_ones}"
    return document


if __name__ == "__main__":
    try:
        check(sys.argv[1])
    except (AssertionError, ValueError, KeyError) as fault:
        sys.exit(f"{sys.argv[1]}: {fault}")
