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


def yaml_of(*names):
    """A file of examples/ci, by Debian's parser for Debian's Python."""
    done = subprocess.run(["/usr/bin/python3", "-c", "import json, sys, yaml; print(json.dumps(yaml.safe_load(open(sys.argv[1]))))", os.path.join(CI, *names)], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def filled(text, values):
    """`${{ ... }}` in a text of a workflow: names, and one compared with a text."""
    def value(m):
        name, equals, wanted = m.group(1).partition(" == ")
        return str(values[name] == wanted.strip("'")).lower() if equals else values[name]

    return re.sub(r"\$\{\{ ([^{}]+) \}\}", value, text)


def run_action(p, comments, given, number="7", folder=None):
    """Runs the steps as a runner does, those of the action in a folder of the repository; returns the exit status of the first step that fails, else 0."""
    action = yaml_of("action/action.yml")
    inputs = {**{name: i["default"] for name, i in action["inputs"].items() if "default" in i}, **given}
    equal(sorted(inputs), sorted(action["inputs"]), "each input has a value, and no other has")
    outputs = p.write("outputs", "")
    p.write("summary", "")
    p.printed = ""
    for step in action["runs"]["steps"]:
        with open(outputs, encoding="utf-8") as f:
            values = {**{f"inputs.{k}": v for k, v in inputs.items()}, "github.token": "secret", "github.event.pull_request.number": number,
                      **{f"steps.check.outputs.{k}": v for k, v in re.findall(r"(?m)^([\w-]+)=(.*)$", f.read())}}
        equal(step["shell"], "sh", "the shell")
        done = subprocess.run(["sh", "-e", "-c", filled(step["run"], values)], cwd=p.path, capture_output=True, text=True,
                              env={**p.env, "PATH": os.path.dirname(CALIBRAX) + ":" + os.environ["PATH"], "GITHUB_STEP_SUMMARY": p.file("summary"), "GITHUB_OUTPUT": outputs,
                                   "GITHUB_API_URL": comments.url, "GITHUB_REPOSITORY": "a/b", "GITHUB_WORKFLOW": "speed", "GITHUB_JOB": "compare",
                                   "GITHUB_ACTION_PATH": folder or os.path.join(CI, "action"), **{k: filled(v, values) for k, v in step["env"].items()}})
        p.printed += done.stdout
        if done.returncode:
            check(step["name"] == "verdict", f"{step['name']}: {done.stderr}")
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
    has(p.printed, "::error file=benchmarks/bench.py,line=5,title=regressed::wait", "the function's line is annotated")
    check(re.search("[\u2581-\u2588]{3}", comments.comments[-1]["body"]), "bars of three runs")
    equal(comments.token, "Bearer secret", "the token")
    badge = xml.etree.ElementTree.parse(p.file("calibrax.svg")).getroot()
    has(badge.get("aria-label"), "regressed")


def checked_out(p, comments, source):
    """A fresh repository with the files of examples/ci where their comments put them."""
    shutil.rmtree(p.file(source), ignore_errors=True)
    os.makedirs(p.file(source))
    here = type("Checkout", (type(p),), {"__init__": lambda self: None})()
    here.path, here.env = p.file(source), dict(p.env)
    prepared(here, comments)
    return here


def the_workflow(p):
    """The complete workflow, for pushes to main and for a pull request, with the caches of the server."""
    comments, caches = Comments(), {}
    steps = yaml_of("performance.yml")["jobs"]["measure"]["steps"]
    permissions = yaml_of("performance.yml")["permissions"]
    equal(permissions["pull-requests"], "write", "the comment is allowed")
    names = [step.get("uses", step.get("name")) for step in steps]
    check(names.index("actions/checkout@v4") < names.index("./.github/actions/calibrax"), "the action is there before it is used")

    def job(number, ref, wait):
        here = checked_out(p, comments, "checkout")
        shutil.copytree(os.path.join(CI, "action"), here.file(".github/actions/calibrax"))
        here.env["WAIT"] = wait
        values = {"github.ref": ref, "github.run_id": number, "github.run_attempt": "1", "vars.CALIBRAX_REPOSITORY": "a/b", "vars.CALIBRAX_REF": "v1"}
        status = 0
        for step in steps:
            uses, given = step.get("uses", "").partition("@")[0], {k: filled(v, values) for k, v in step.get("with", {}).items()}
            if status or filled("${{ " + step.get("if", "always == 'yes'") + " }}", {**values, "always": "yes"}) == "false":
                continue
            if uses == "actions/cache/restore":
                for key in sorted(caches, reverse=True):
                    if key == given["key"] or key.startswith(given["restore-keys"]):
                        shutil.copytree(caches[key], here.file(given["path"]))
                        break
            elif uses == "actions/cache/save":
                check(given["key"] not in caches, "a key is written once: a second one is refused")
                caches[given["key"]] = p.file(f"cache{number}")
                shutil.copytree(here.file(given["path"]), caches[given["key"]])
            elif uses.startswith("./"):
                given = {**given, "run": "--samples 5 " + given["run"], "launches": "7", "threshold": "0.5"}
                status = run_action(here, comments, given, "7" if "pull" in ref else "", here.file(uses))
            elif uses:
                equal(uses, "actions/checkout", "no other action")
            else:
                equal(subprocess.run(["sh", "-n", "-c", filled(step["run"], values)], check=False).returncode, 0, step["name"])
                for script in re.findall(r"\.calibrax-source/(\S+)", step["run"]):
                    check(os.access(os.path.join(SOURCE, script), os.X_OK), f"{script} is in the sources")
        return status

    equal(job("1", "refs/heads/main", "0.002"), 0, "the first run is the baseline")
    equal(len(caches), 1, "main keeps its store")
    equal(job("2", "refs/pull/7/merge", "0.002"), 0, "a pull request of the same speed passes")
    equal(job("3", "refs/pull/7/merge", "0.01"), 1, "a slower one fails")
    equal(len(caches), 1, "pull requests keep nothing")
    equal(len(comments.comments), 131, "with one comment")
    has(comments.comments[-1]["body"], "| regressed | wait")
    equal(job("4", "refs/heads/main", "0.01"), 0, "main goes on from what it has")
    equal(job("5", "refs/pull/8/merge", "0.01"), 0, "the next pull request is compared with the new baseline")


# Pipelines of GitLab by kind, with the predefined variables that each has, after its page
# "Predefined CI/CD variables reference".
PIPELINES = {"merge request": {"CI_PIPELINE_SOURCE": "merge_request_event", "CI_MERGE_REQUEST_IID": "9", "CI_MERGE_REQUEST_PROJECT_ID": "5", "CI_PROJECT_ID": "6"},  # 6: a fork
             "default branch": {"CI_PIPELINE_SOURCE": "push", "CI_COMMIT_BRANCH": "main", "CI_PROJECT_ID": "5"},
             "schedule": {"CI_PIPELINE_SOURCE": "schedule", "CI_COMMIT_BRANCH": "main", "CI_PROJECT_ID": "5"},
             "branch": {"CI_PIPELINE_SOURCE": "push", "CI_COMMIT_BRANCH": "topic", "CI_PROJECT_ID": "5"},
             "tag": {"CI_PIPELINE_SOURCE": "push", "CI_COMMIT_TAG": "v1", "CI_PROJECT_ID": "5"}}


def rule_for(job, variables):
    """The first rule whose condition holds, as the server chooses it; None: the job is not in the pipeline."""
    def value(word):
        return word.strip('"') if word.startswith('"') else variables.get(word.lstrip("$"))

    for rule in job["rules"]:
        left, right = rule["if"].split(" == ")
        if value(left) is not None and value(left) == value(right):
            return rule
    return None


def gitlab(p):
    """The job in each kind of pipeline, with the variables of that kind and no other."""
    comments = Comments()
    comments.me = "project_5_bot"
    job = yaml_of("gitlab-ci.yml")["performance"]
    policies = {}

    def run(kind, wait):
        here = checked_out(p, comments, "checkout")
        variables = {**job["variables"], **PIPELINES[kind], "CI_DEFAULT_BRANCH": "main", "CI_API_V4_URL": comments.url, "CI_JOB_NAME": "performance", "GITLAB_TOKEN": "t"}
        rule = rule_for(job, variables)
        if rule is None:
            return None
        variables.update(rule["variables"], LAUNCHES="7", BENCHMARKS="--samples 5 " + variables["BENCHMARKS"], CHECK_OPTIONS="--threshold 0.5")
        os.makedirs(os.path.dirname(here.file(variables["COMMENT"])))
        shutil.copy(os.path.join(CI, "action/comment.sh"), here.file(variables["COMMENT"]))
        policies[kind] = variables[job["cache"]["policy"].lstrip("$")]
        (kept,) = job["cache"]["paths"]
        if os.path.exists(p.file("cache")):
            shutil.copytree(p.file("cache"), here.file(kept))
        done = subprocess.run(["sh", "-e", "-c", "\n".join(job["script"])], cwd=here.path, capture_output=True, text=True,
                              env={**here.env, **variables, "WAIT": wait, "PATH": os.path.dirname(CALIBRAX) + ":" + os.environ["PATH"]})
        if "push" in policies[kind]:
            shutil.rmtree(p.file("cache"), ignore_errors=True)
            shutil.copytree(here.file(kept), p.file("cache"))
        if done.returncode not in (0, 1):
            print("# " + (done.stdout + done.stderr)[-1000:].replace("\n", "\n# "))
        if kind == "merge request":
            xml.etree.ElementTree.parse(here.file("calibrax.xml"))
        return done.returncode

    equal(run("default branch", "0.002"), 0, "the first run is the baseline")
    equal(len(comments.comments), 130, "no comment outside of a merge request")
    before = sorted(os.listdir(p.file("cache")))
    equal(run("merge request", "0.01"), 1, "a slower merge request fails")
    check(("POST", "/projects/5/merge_requests/9/notes") in comments.requests, comments.requests[-3:])
    has(comments.comments[-1]["body"], "| regressed | wait")
    has(comments.comments[-1]["body"], "<!-- calibrax: performance/ -->")
    equal(sorted(os.listdir(p.file("cache"))), before, "what the default branch kept stays as it was")
    equal(run("merge request", "0.002"), 0, "the next one is not compared with it")
    equal((run("branch", "0.002"), run("tag", "0.002")), (None, None), "no second pipeline of one commit")
    check(rule_for(job, {**PIPELINES["schedule"], "CI_DEFAULT_BRANCH": "main"}), "a schedule measures the default branch")
    equal(policies, {"default branch": "pull-push", "merge request": "pull"}, "who may write the cache")
    for script in re.findall(r"/opt/calibrax-source/(\S+)", "\n".join(job["before_script"])):
        check(os.access(os.path.join(SOURCE, script), os.X_OK), f"{script} is in the sources")


def one_comment_for_each_job(p):
    """Neither a comment of another job nor one of another author is replaced, whatever their text."""
    for server, me in (("github", None), ("github", "my-app[bot]"), ("gitlab", "project_5_bot")):
        comments = Comments()
        comments.me = me

        def post(text, workflow, job, *name):
            p.write("report.md", text)
            env = {"PR": "7", "GITHUB_REPOSITORY": "a/b", "GITHUB_TOKEN": "t", "GITHUB_API_URL": comments.url, "GITHUB_WORKFLOW": workflow, "GITHUB_JOB": job} if server == "github" else \
                  {"CI_MERGE_REQUEST_IID": "9", "CI_MERGE_REQUEST_PROJECT_ID": "5", "GITLAB_TOKEN": "t", "CI_API_V4_URL": comments.url, "CI_JOB_NAME": f"{workflow} {job}"}
            done = subprocess.run(["sh", os.path.join(CI, "action/comment.sh"), "report.md", *name], cwd=p.path, capture_output=True, text=True, env={**p.env, **env})
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
        done = subprocess.run(["sh", os.path.join(CI, "action/comment.sh"), "report.md"], cwd=p.path, capture_output=True, text=True, env={**p.env, **env})
        check(done.returncode != 0, "it fails")
        has(done.stderr, words)
        check("secret" not in done.stderr, "the token is not shown")


main([the_action, the_workflow, gitlab, one_comment_for_each_job, comment_faults])
