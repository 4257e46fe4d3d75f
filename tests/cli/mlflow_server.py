"""The part of MLflow's REST API 2.0 that an export uses, in memory, with MLflow's rules, and with faults by number of request.

A fault is a name: "500", "429" or another status ("429:7": it asks for a pause of 7 s), "rubbish" (a page), "lost" (done, and the answer is lost), "late" (the same, done only behind the next run that is
made), "slow" (no answer for two seconds), "stall" (neither done nor answered), "mute" (done and not answered), "hold" (done when it is released), "held" (done, and answered when it is released); an object is
the answer.
scripts/interop.sh holds the same exports against a real server.
"""
import contextlib
import hashlib
import http.server
import json
import posixpath
import re
import ssl
import threading
import time
import urllib.parse

NAME = re.compile(r"[A-Za-z0-9_.\-/ ]+")


class Refused(Exception):
    def __init__(self, code, error, message):
        super().__init__(message)
        self.code, self.error = code, error


def check_name(name):
    if not NAME.fullmatch(name) or posixpath.normpath(name) != name or name.startswith(("/", "..")) or len(name) > 250:
        raise Refused(400, "INVALID_PARAMETER_VALUE", f"Invalid name: {name!r}")


class Server:
    """Runs in a thread while it is entered; faults: {number of request or "all": name}; meet: as many runs are made at one moment, the first time;
    tls: (certificate, key)."""

    def __init__(self, faults=None, artifacts="mlflow-artifacts:/", credentials=None, meet=0, tls=None):
        self.faults, self.root, self.credentials, self.tls = faults or {}, artifacts, credentials, tls
        self.experiments, self.runs, self.artifacts, self.requests, self.deferred = {}, {}, {}, [], []
        self.stalled, self.end, self.lock, self.released = threading.Event(), threading.Event(), threading.Lock(), threading.Event()
        self.meeting, self.to_come = threading.Barrier(meet) if meet else None, meet

    def __enter__(self):
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version, wbufsize = "HTTP/1.1", -1  # an answer is one packet

            def handle_all(self):
                outer.answer(self)

            do_GET = do_POST = do_PUT = handle_all

            def log_message(self, *_):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.url = f"http{'s' if self.tls else ''}://127.0.0.1:{self.http.server_port}"
        if self.tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*self.tls)
            self.http.socket = context.wrap_socket(self.http.socket, server_side=True)
        threading.Thread(target=self.http.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.end.set()
        self.released.set()
        self.http.shutdown()
        self.http.server_close()

    def answer(self, h):
        body = h.rfile.read(int(h.headers.get("Content-Length", 0)))
        with self.lock:
            number = len(self.requests)
            self.requests.append((h.command, h.path, dict(h.headers), body))
        fault = self.faults.get(number, self.faults.get("all"))
        if fault == "stall":
            self.stalled.set()
            self.end.wait(60)
            h.close_connection = True
            return
        if fault == "slow":
            self.end.wait(2)
        if fault == "rubbish":
            return self.send(h, 200, b"<html>It works!</html>", "text/html")
        if isinstance(fault, dict):
            return self.send(h, 200, json.dumps(fault).encode(), "application/json")
        if isinstance(fault, str) and fault[:3].isdigit() and fault != "401":
            code, _, pause = fault.partition(":")
            return self.send(h, int(code), json.dumps({"error_code": "TEMPORARILY_UNAVAILABLE", "message": "not now\nTraceback"}).encode(), "application/json",
                             {"Retry-After": pause or "0", "Location": "https://elsewhere.example/?token=hush"})
        if fault == "echo":
            return self.send(h, 400, json.dumps({"message": "these headers are wrong: " + str(dict(h.headers))}).encode(), "application/json")
        if fault == "401" or (self.credentials and h.headers.get("Authorization") != self.credentials):
            return self.send(h, 401, b"You are not authenticated", "text/html", {"WWW-Authenticate": 'Basic realm="mlflow"'})
        if fault == "late":
            self.deferred.append((h.command, h.path, body))
            h.close_connection = True
            return None
        if fault == "hold":
            self.stalled.set()
            self.released.wait(60)
        made = h.path.endswith("/runs/create")
        if made and self.to_come and b"mlflow.parentRunId" not in body:
            self.to_come -= 1
            self.meeting.wait(60)
        try:
            with self.lock:
                out, code = self.dispatch(h.command, h.path, body), 200
        except Refused as e:
            out, code = {"error_code": e.error, "message": str(e)}, e.code
        except (KeyError, ValueError) as e:
            out, code = {"error_code": "INVALID_PARAMETER_VALUE", "message": repr(e)}, 400
        if made and self.deferred:
            with self.lock:
                for request in self.deferred:
                    with contextlib.suppress(Refused):
                        self.dispatch(*request)
                self.deferred.clear()
        if fault in ("mute", "held"):
            self.stalled.set()
            (self.end if fault == "mute" else self.released).wait(60)
        if fault in ("lost", "mute"):
            h.close_connection = True
            return None
        return self.send(h, code, b"" if out is None else json.dumps(out).encode(), "application/json")

    @staticmethod
    def send(h, code, body, kind, headers=None):
        try:
            h.send_response(code)
            for key, value in {"Content-Type": kind, "Content-Length": str(len(body)), **(headers or {})}.items():
                h.send_header(key, value)
            h.end_headers()
            h.wfile.write(body)
        except OSError:
            pass  # the client is gone

    def dispatch(self, method, target, body):
        url = urllib.parse.urlsplit(target)
        query, prefix = dict(urllib.parse.parse_qsl(url.query)), "/api/2.0/mlflow-artifacts/artifacts/"
        if method == "PUT" and url.path.startswith(prefix):
            self.artifacts[urllib.parse.unquote(url.path[len(prefix):])] = body
            return None
        call = url.path.removeprefix("/api/2.0/mlflow/").replace("/", "_").replace("-", "_")
        found = getattr(self, "do_" + call, None)
        if not found:
            raise Refused(404, "ENDPOINT_NOT_FOUND", target)
        return found(query if method == "GET" else json.loads(body)) or {}

    # --- the API ---

    def do_experiments_get_by_name(self, q):
        if q["experiment_name"] not in self.experiments:
            raise Refused(404, "RESOURCE_DOES_NOT_EXIST", f"Could not find experiment with name '{q['experiment_name']}'")
        return {"experiment": {"experiment_id": self.experiments[q["experiment_name"]], "name": q["experiment_name"], "lifecycle_stage": "active"}}

    def do_experiments_create(self, q):
        if q["name"] in self.experiments:
            raise Refused(400, "RESOURCE_ALREADY_EXISTS", "it exists")
        self.experiments[q["name"]] = str(len(self.experiments) + 1)
        return {"experiment_id": self.experiments[q["name"]]}

    def do_runs_create(self, q):
        number = hashlib.md5(str(len(self.runs)).encode()).hexdigest()  # in no order
        self.runs[number] = {"experiment": q["experiment_id"], "name": q["run_name"], "start": q["start_time"], "status": "RUNNING", "end": None, "params": {}, "metrics": {},
                             "tags": {t["key"]: t["value"] for t in q["tags"]}, "artifacts": f"{self.root}{q['experiment_id']}/{number}/artifacts"}
        return {"run": self.view(number)}

    def view(self, number):
        r = self.runs[number]
        data = {"metrics": [{"key": k, "value": max(v)[2]} for k, v in r["metrics"].items()], "params": [{"key": k, "value": v} for k, v in r["params"].items()],
                "tags": [{"key": k, "value": v} for k, v in r["tags"].items()]}
        return {"info": {"run_id": number, "status": r["status"], "artifact_uri": r["artifacts"]}, "data": {k: v for k, v in data.items() if v}}

    def active(self, number):
        if self.runs[number].get("deleted"):
            raise Refused(400, "INVALID_PARAMETER_VALUE", f"The run {number} must be in the 'active' state.")
        return self.runs[number]

    def do_runs_delete(self, q):
        self.runs[q["run_id"]]["deleted"] = True

    def do_runs_search(self, q):
        wanted = re.findall(r"tags\.`([^`]+)` = '([^']*)'", q["filter"])
        if " and ".join(f"tags.`{k}` = '{v}'" for k, v in wanted) != q["filter"]:
            raise Refused(400, "INVALID_PARAMETER_VALUE", "filter")
        found = [n for n, r in self.runs.items() if not r.get("deleted") and r["experiment"] in q["experiment_ids"] and all(r["tags"].get(k) == v for k, v in wanted)]
        start, size = int(q.get("page_token", 0)), min(q["max_results"], 3)  # pages are short, so that there are several
        out = {"runs": [self.view(n) for n in found[start:start + size]]} if found else {}
        if start + size < len(found):
            out["next_page_token"] = str(start + size)
        return out

    def do_runs_log_batch(self, q):
        r = self.active(q["run_id"])
        if len(q["metrics"]) > 1000 or len(q["params"]) > 100 or len(q["tags"]) > 100 or sum(len(q[k]) for k in ("metrics", "params", "tags")) > 1000:
            raise Refused(400, "INVALID_PARAMETER_VALUE", "a batch is too long")
        for m in q["metrics"]:
            check_name(m["key"])
            value = float(m["value"])
            value = max(min(value, 1.7976931348623157e308), -1.7976931348623157e308) if value == value else "nan"
            r["metrics"].setdefault(m["key"], set()).add((m["step"], m["timestamp"], value))
        for p in q["params"]:
            check_name(p["key"])
            if len(p["value"]) > 6000 or r["params"].setdefault(p["key"], p["value"]) != p["value"]:
                raise Refused(400, "INVALID_PARAMETER_VALUE", f"Changing param values is not allowed: {p['key']}")
        for t in q["tags"]:
            check_name(t["key"])
            if len(t["value"]) > 5000:
                raise Refused(400, "INVALID_PARAMETER_VALUE", f"a tag is too long: {t['key']}")
            r["tags"][t["key"]] = t["value"]

    def do_runs_update(self, q):
        self.active(q["run_id"]).update(status=q["status"], end=q["end_time"])
        return {"run_info": self.view(q["run_id"])["info"]}

    # --- for the tests ---

    def tree(self):
        """[a run with its points and artifacts], without the ids that the server chose."""
        out = []
        for number, r in self.runs.items():
            if "mlflow.parentRunId" in r["tags"] or r.get("deleted"):
                continue
            points = [{k: v for k, v in c.items() if k not in ("artifacts", "tags")} | {"tags": {k: v for k, v in c["tags"].items() if k != "mlflow.parentRunId"}}
                      for c in self.runs.values() if c["tags"].get("mlflow.parentRunId") == number and not c.get("deleted")]
            start = f"{r['experiment']}/{number}/artifacts/"
            files = {k[len(start):]: v for k, v in self.artifacts.items() if k.startswith(start)}
            out.append({k: v for k, v in r.items() if k != "artifacts"} | {"points": sorted(points, key=lambda c: int(c["tags"]["calibrax.point"])), "files": files})
        return out


def decoded(name):
    """The parts of a name of ours; None: it was cut."""
    if re.search("_xh[0-9a-f]{32}_$", name):
        return None
    parts = name.split("/")
    for i, part in enumerate(parts):
        out, at = bytearray(), 0
        while part != "_x_" and at < len(part):
            if part.startswith("_x", at):
                (digits,) = re.match("_x([0-9A-F]{2})_", part[at:]).groups()
                out.append(int(digits, 16))
                at += 5
            else:
                out.append(ord(part[at]))
                at += 1
        parts[i] = out.decode()
    return parts


if __name__ == "__main__":
    with Server() as s:
        print(s.url, flush=True)
        while True:
            time.sleep(60)
