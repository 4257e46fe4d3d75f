#!/bin/sh
# comment.sh FILE [MARK]: shows a report on the pull request (GitHub) or merge request (GitLab), in one comment that each later run replaces.
# MARK distinguishes several reports of one repository (default: calibrax).  Environment, as the servers set it:
#   GitHub: GITHUB_REPOSITORY, GITHUB_TOKEN, PR (its number), GITHUB_API_URL
#   GitLab: CI_PROJECT_ID, CI_MERGE_REQUEST_IID, CI_API_V4_URL, GITLAB_TOKEN (a project token with the scope api)
# Outside of a pull request it does nothing and succeeds.
set -eu
file=${1:?usage: comment.sh FILE [MARK]}
mark="<!-- ${2:-calibrax} -->"

if [ -n "${CI_MERGE_REQUEST_IID:-}" ]; then
    list=${CI_API_V4_URL:?}/projects/${CI_PROJECT_ID:?}/merge_requests/$CI_MERGE_REQUEST_IID/notes
    one=$list
    header="PRIVATE-TOKEN: ${GITLAB_TOKEN:?a project token with the scope api}"
    change=PUT
elif [ -n "${PR:-}" ]; then
    api=${GITHUB_API_URL:-https://api.github.com}/repos/${GITHUB_REPOSITORY:?}
    list=$api/issues/$PR/comments
    one=$api/issues/comments
    header="Authorization: Bearer ${GITHUB_TOKEN:?}"
    change=PATCH
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

body=$(python3 -c 'import json, sys; print(json.dumps({"body": sys.argv[1] + "\n" + open(sys.argv[2], encoding="utf-8").read()}))' "$mark" "$file")
page=1
id=
while [ -z "$id" ]; do
    found=$(request --retry 3 "$list?per_page=100&page=$page" |
        python3 -c 'import json, sys; c = json.load(sys.stdin); print(len(c), *[x["id"] for x in c if x["body"].startswith(sys.argv[1])][:1])' "$mark")
    id=$(printf '%s' "$found" | cut -s -d ' ' -f 2)
    [ "${found%% *}" = 100 ] || break
    page=$((page + 1))
done
if [ -n "$id" ]; then
    printf '%s' "$body" | request --retry 3 --request "$change" --data @- "$one/$id" > /dev/null
else
    printf '%s' "$body" | request --request POST --data @- "$list" > /dev/null
fi
