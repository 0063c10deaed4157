#!/bin/bash
# The worker of worker.py with curl and jq: set the two variables, run it.
set -euo pipefail
todos=${SWITCHBOARD_URL:?}/api/v1/todos credential=${SWITCHBOARD_CREDENTIAL:?}
body=$(mktemp)
trap 'rm -f "$body"' EXIT

# call PATH [JSON]: the answer is in $status and $answer. Fails if the todo is not ours any more.
call() {
    # 429 and 503 are sent again after their Retry-After. The credential is no argument of curl's,
    # which everybody on the host could read.
    status=$(curl -sS -o "$body" -w '%{http_code}' --max-time 40 \
        --retry 9999 --retry-delay 5 --retry-all-errors \
        -H @<(echo "Authorization: Bearer $credential") \
        ${2:+-H 'Content-Type: application/json' --data-binary @-} "$todos$1" <<<"${2-}")
    answer=$(<"$body")
    case $status in
        2*) ;;
        409) echo "refused: $(get .error.message)"; return 1 ;;
        *) echo "$status $answer" >&2; exit 1 ;;
    esac
}

get() { jq -cr "$1" <<<"$answer"; }

work() {
    local id title token attempt result
    id=$(get .todo.id) title=$(get .todo.title) token=$(get .lease_token)
    attempt=$(get .attempt_seq) result=$(get .todo.result)
    echo "claimed $id $title"
    if [[ $result != null ]]; then echo "an earlier attempt had asked: $result"; fi
    # At least every 5 minutes while you work, or the lease lapses and somebody else gets the todo.
    call "/$id/heartbeat" "$(jq -n --arg t "$token" '{lease_token: $t}')" || return 0
    # If it had to be sent twice, the second is refused: how the todo is now says whether we wait.
    call "/$id/interrupt" "$(jq -n --arg t "$token" --arg title "$title" '{lease_token: $t,
        state: "input-required", result: {question: "How shall I do this: \($title)?"}}')" || true
    while call "/$id" && [[ $(get .state) == input-required ]]; do sleep 5; done
    [[ $(get '"\(.state) \(.attempts_total)"') == "claimed $attempt" ]] || { echo "lost $id"; return; }
    result=$(get .result)
    echo "the answer: $result"
    call "/$id/complete" "$(jq --arg t "$token" '{lease_token: $t, result}' <<<"$answer")" || return 0
    echo "completed $id"
}

while true; do
    # The fence gives the token, which keeps other workers of the endpoint out.
    call /claim_next '{"wait_seconds": 30, "fence": true}'
    if [[ $status == 200 ]]; then work; fi
done
