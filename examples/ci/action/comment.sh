#!/bin/sh
# comment.sh FILE [NAME]: shows a report on the pull request (GitHub) or merge request (GitLab), in
# one comment that each later run replaces. A job has a comment of its own, found by a hidden mark
# with the workflow, the job and NAME (for several reports of one job, or of a matrix), among the
# comments of one author: that of the token, or AUTHOR (default: github-actions[bot]) if the server
# does not show it. Environment, as the servers set it:
#   GitHub: GITHUB_REPOSITORY, GITHUB_TOKEN, PR (its number), GITHUB_API_URL, GITHUB_WORKFLOW,
#   GITHUB_JOB
#   GitLab: CI_MERGE_REQUEST_PROJECT_ID, CI_MERGE_REQUEST_IID, CI_API_V4_URL, CI_JOB_NAME,
#   GITLAB_TOKEN (a project token with the scope api)
# Outside of a pull request it does nothing and succeeds.
set -eu
file=${1:?usage: comment.sh FILE [NAME]}
name=${2:-}

if [ -n "${CI_MERGE_REQUEST_IID:-}" ]; then
    api=${CI_API_V4_URL:?}
    list=$api/projects/${CI_MERGE_REQUEST_PROJECT_ID:?}/merge_requests/$CI_MERGE_REQUEST_IID/notes
    one=$list
    header="PRIVATE-TOKEN: ${GITLAB_TOKEN:?a project token with the scope api}"
    change=PUT
    job=${CI_JOB_NAME:-}
elif [ -n "${PR:-}" ]; then
    api=${GITHUB_API_URL:-https://api.github.com}
    list=$api/repos/${GITHUB_REPOSITORY:?}/issues/$PR/comments
    one=$api/repos/$GITHUB_REPOSITORY/issues/comments
    header="Authorization: Bearer ${GITHUB_TOKEN:?}"
    change=PATCH
    job=${GITHUB_WORKFLOW:-}/${GITHUB_JOB:-}
else
    echo "comment: not a pull request, nothing to comment"
    exit 0
fi

# The token goes to curl by a file, so that no list of processes shows it.
secret=$(mktemp)
trap 'rm -f "$secret"' EXIT
trap 'exit 130' INT TERM HUP
printf 'header = "%s"\n' "$header" > "$secret"
request() { curl --silent --show-error --fail --max-time 60 --config "$secret" --header 'Content-Type: application/json' "$@"; }
json() { python3 -c "import json, re, sys; $1" "$@"; }

# Other characters would end the mark, or make two names one.
mark=$(json 'print("<!-- calibrax:", re.sub(r"[^\w./ ]", lambda c: "%%%x;" % ord(c[0]), "/".join(sys.argv[2:])), "-->")' "$job" "$name")
body=$(json 'print(json.dumps({"body": sys.argv[2] + "\n" + open(sys.argv[3], encoding="utf-8").read()}))' "$mark" "$file")
# A job's own token may not ask who it is: the answer is then an error, which is not shown.
author=$(request "$api/user" 2> /dev/null | json 'me = json.load(sys.stdin); print(me.get("login") or me["username"])' 2> /dev/null) || author=
author=${author:-${AUTHOR:-github-actions[bot]}}

page=1
id=
while [ -z "$id" ]; do
    found=$(request --retry 3 "$list?per_page=100&page=$page" | json '
c = json.load(sys.stdin)
of = lambda x: (x.get("user") or x.get("author") or {}).get("login") or (x.get("author") or {}).get("username")
print(len(c), *[x["id"] for x in c if (x["body"] or "").startswith(sys.argv[2]) and of(x) == sys.argv[3]][:1])' "$mark" "$author")
    id=$(printf '%s' "$found" | cut -s -d ' ' -f 2)
    [ "${found%% *}" = 100 ] || break
    page=$((page + 1))
done
if [ -n "$id" ]; then
    printf '%s' "$body" | request --retry 3 --request "$change" --data @- "$one/$id" > /dev/null
else
    printf '%s' "$body" | request --request POST --data @- "$list" > /dev/null
fi
