"""examples/ci: the steps of the action and of the GitLab job, run as their servers run them, with a server on loopback that has comments."""
import http.server
import json
import os
import re
import shutil
import subprocess
import threading
import xml.etree.ElementTree

from harness import CALIBRAX, SOURCE, check, equal, has, main

CI = os.path.join(SOURCE, "examples/ci")


class Comments:
    """The parts of the two servers' interfaces that comment.sh uses, with 130 comments of others."""

    def __init__(self):
        self.comments, self.requests, self.token = [{"id": i, "body": f"text {i}", "user": {"login": "someone"}, "author": {"username": "someone"}} for i in range(130)], [], None
        self.me = None  # who the token is, where it may ask
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def answer(self, value, code=200):
                body = json.dumps(value).encode()
                self.send_response(code)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def handle_any(self):
                path, _, query = self.path.partition("?")
                body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or "{}")
                outer.requests.append((self.command, path))
                outer.token = self.headers.get("Authorization") or self.headers.get("PRIVATE-TOKEN")
                if path == "/user":
                    return self.answer({}, 403) if outer.me is None else self.answer({"login": outer.me} if "Authorization" in self.headers else {"username": outer.me})
                if self.command == "GET":
                    page = int(re.search(r"(?:^|&)page=(\d+)", query).group(1))
                    return self.answer(outer.comments[100 * page - 100 : 100 * page])
                if self.command == "POST":
                    by = outer.me or "github-actions[bot]"
                    outer.comments.append({"id": 1000 + len(outer.comments), "user": {"login": by}, **body} if "repos" in path else {"id": 1000 + len(outer.comments), "author": {"username": by}, **body})
                    return self.answer(outer.comments[-1], 201)
                (found,) = [c for c in outer.comments if str(c["id"]) == path.rsplit("/", 1)[1]]
                found.update(body)
                return self.answer(found)

            do_GET = do_POST = do_PATCH = do_PUT = handle_any

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"


def steps_of(path):
    """Name, environment and script of each step of a composite action: the part of YAML that it is written in."""
    with open(path, encoding="utf-8") as f:
        text = f.read().partition("  steps:\n")[2]
    for step in re.split(r"(?m)^    - ", text)[1:]:
        env = dict(re.findall(r"(?m)^        ([A-Z_]+): (.*)$", step.partition("      run:")[0]))
        script = step.partition("      run: ")[2]
        if script.startswith("|"):
            script = re.sub(r"(?m)^        ", "", script[2:])
        elif script.startswith("'"):
            script = script.strip().strip("'")
        yield re.match(r"name: (\w+)", step).group(1), env, script


def run_action(p, comments, given, number="7"):
    """Runs the steps as a runner does, with `${{ ... }}` filled in; returns the exit status of the first step that fails, else 0."""
    with open(os.path.join(CI, "action/action.yml"), encoding="utf-8") as f:
        inputs = dict(re.findall(r'(?m)^  ([a-z-]+):\n    description: .*\n    default: "?([^"\n]*)"?$', f.read()))
    inputs.update(given)
    outputs = p.write("outputs", "")
    p.write("summary", "")

    def filled(text):
        values = {**{f"inputs.{k}": v for k, v in inputs.items()}, "github.token": "secret", "github.event.pull_request.number": number, "github.action_path": os.path.join(CI, "action")}
        with open(outputs, encoding="utf-8") as f:
            values.update({f"steps.check.outputs.{k}": v for k, v in re.findall(r"(?m)^([\w-]+)=(.*)$", f.read())})
        return re.sub(r"\$\{\{ ([\w.-]+) \}\}", lambda m: values[m.group(1)], text)

    for name, env, script in steps_of(os.path.join(CI, "action/action.yml")):
        done = subprocess.run(["sh", "-e", "-c", filled(script)], cwd=p.path, capture_output=True, text=True,
                              env={**p.env, "PATH": os.path.dirname(CALIBRAX) + ":" + os.environ["PATH"], "GITHUB_STEP_SUMMARY": p.file("summary"), "GITHUB_OUTPUT": outputs,
                                   "GITHUB_API_URL": comments.url, "GITHUB_REPOSITORY": "a/b", "GITHUB_WORKFLOW": "speed", "GITHUB_JOB": "compare", **{k: filled(v) for k, v in env.items()}})
        if done.returncode:
            check(name == "verdict", f"{name}: {done.stderr}")
            return done.returncode
    return 0


BENCH = """
import os, time
from calibrax_c import register_benchmark

@register_benchmark("wait")
def wait():
    time.sleep(float(os.environ["WAIT"]))
"""


def prepared(p, comments):
    os.makedirs(p.file("benchmarks"), exist_ok=True)
    p.write("benchmarks/bench.py", BENCH)
    p.env["PYTHONPATH"] = os.path.join(os.path.abspath(os.path.dirname(CALIBRAX)), "../../python")


def the_action(p):
    comments = Comments()
    prepared(p, comments)
    given = {"run": "--samples 5 benchmarks/", "launches": "7", "threshold": "0.5"}
    p.env["WAIT"] = "0.002"
    equal(run_action(p, comments, {**given, "save-baseline": "true"}, ""), 0, "the first run is the baseline")
    equal(len(comments.comments), 130, "no comment outside of a pull request")
    equal(run_action(p, comments, given), 0, "the same speed passes")
    with open(p.file("summary"), encoding="utf-8") as f:
        has(f.read(), "### calibrax:", "the summary of the job")
    equal(len(comments.comments), 131, "one comment")
    has(comments.comments[-1]["body"], "| history |")
    has(comments.comments[-1]["body"], "<!-- calibrax: speed/compare/ -->")
    p.env["WAIT"] = "0.01"
    equal(run_action(p, comments, given), 1, "a regression fails the job")
    equal(len(comments.comments), 131, "the comment is replaced")
    has(comments.comments[-1]["body"], "| regressed | wait")
    check(re.search("[\u2581-\u2588]{3}", comments.comments[-1]["body"]), "bars of three runs")
    equal(comments.token, "Bearer secret", "the token")
    badge = xml.etree.ElementTree.parse(p.file("calibrax.svg")).getroot()
    has(badge.get("aria-label"), "regressed")


def gitlab(p):
    comments = Comments()
    prepared(p, comments)
    shutil.copytree(CI, p.file("examples/ci"))
    with open(os.path.join(CI, "gitlab-ci.yml"), encoding="utf-8") as f:
        lines = [line.strip("'") for line in re.findall(r"(?m)^    - (.*)$", f.read().partition("  script:\n")[2].partition("  artifacts:")[0])]
    env = {**p.env, "PATH": os.path.dirname(CALIBRAX) + ":" + os.environ["PATH"], "LAUNCHES": "7", "CI_API_V4_URL": comments.url, "CI_PROJECT_ID": "5", "GITLAB_TOKEN": "t", "CI_DEFAULT_BRANCH": "main",
           "CI_JOB_NAME": "performance"}
    comments.me = "project_5_bot"
    for wait, branch, merge, expect in (("0.002", "main", "", 0), ("0.01", "topic", "9", 1)):
        done = subprocess.run(["sh", "-e", "-c", "\n".join(lines)], cwd=p.path, capture_output=True, text=True, env={**env, "WAIT": wait, "CI_COMMIT_BRANCH": branch, "CI_MERGE_REQUEST_IID": merge})
        equal(done.returncode, expect, done.stderr[-500:])
    has(comments.comments[-1]["body"], "regressed")
    check(("POST", "/projects/5/merge_requests/9/notes") in comments.requests, comments.requests[-3:])
    has(comments.comments[-1]["body"], "<!-- calibrax: performance/ -->")
    xml.etree.ElementTree.parse(p.file("calibrax.xml"))


def one_comment_for_each_job(p):
    """Neither a comment of another job nor one of another author is replaced, whatever their text."""
    for server, me in (("github", None), ("github", "my-app[bot]"), ("gitlab", "project_5_bot")):
        comments = Comments()
        comments.me = me

        def post(text, workflow, job, *name):
            p.write("report.md", text)
            env = {"PR": "7", "GITHUB_REPOSITORY": "a/b", "GITHUB_TOKEN": "t", "GITHUB_API_URL": comments.url, "GITHUB_WORKFLOW": workflow, "GITHUB_JOB": job} if server == "github" else \
                  {"CI_MERGE_REQUEST_IID": "9", "CI_PROJECT_ID": "5", "GITLAB_TOKEN": "t", "CI_API_V4_URL": comments.url, "CI_JOB_NAME": f"{workflow} {job}"}
            done = subprocess.run(["sh", os.path.join(CI, "comment.sh"), "report.md", *name], cwd=p.path, capture_output=True, text=True, env={**p.env, **env})
            equal((done.returncode, done.stderr), (0, ""), server)

        jobs = [("speed", "x86"), ("speed", "arm"), ("size", "x86"), ("speed", "x86", "gcc"), ("speed", "x86", "clang"), ("a --> b", "c"), ("a - - b", "c")]
        for text in ("first", "second"):
            for i, job in enumerate(jobs):
                post(f"{text} {i}", *job)
            equal([c["body"].partition("\n")[2] for c in comments.comments[130:]], [f"{text} {i}" for i in range(len(jobs))], f"{server}: a comment a job")
            check(all(c["body"].split("\n")[0].count("-->") == 1 for c in comments.comments[130:]), "the mark ends once")
        for c in comments.comments[:3]:  # of somebody who quotes ours
            c["body"] = comments.comments[130]["body"]
        post("third", *jobs[0])
        equal([c["body"].partition("\n")[2] for c in (comments.comments[0], comments.comments[130])], ["second 0", "third"], f"{server}: that of another author stays")


def comment_faults(p):
    p.write("report.md", "text")
    for env, words in (({"PR": "7", "GITHUB_REPOSITORY": "a/b", "GITHUB_TOKEN": "secret", "GITHUB_API_URL": "http://127.0.0.1:9"}, "curl: "), ({"PR": "7", "GITHUB_REPOSITORY": "a/b"}, "GITHUB_TOKEN")):
        done = subprocess.run(["sh", os.path.join(CI, "comment.sh"), "report.md"], cwd=p.path, capture_output=True, text=True, env={**p.env, **env})
        check(done.returncode != 0, "it fails")
        has(done.stderr, words)
        check("secret" not in done.stderr, "the token is not shown")


main([the_action, gitlab, one_comment_for_each_job, comment_faults])
