#!/usr/bin/env bash
# The step of action.yml: compares two versions, appends a table to the summary of the job, and writes junit.xml.
# Its inputs are variables; exit code 3: not judged, 4: the candidate is slower or fails more.
set -uo pipefail
mkdir -p -- "$OUTPUT"
junit=$OUTPUT/junit.xml

# ended CODE: what the steps above found, as a table; without a comparison only its title
ended() {
    python3 - "$junit" "$1" >> "${GITHUB_STEP_SUMMARY:-/dev/stdout}" <<'END'
import html
import sys
from pathlib import Path
from xml.etree import ElementTree

said = {"0": "passed", "3": "not judged", "4": "failed"}
print(f"### logreplay: {said.get(sys.argv[2], 'error, see the log of the step')}\n")
if Path(sys.argv[1]).exists():
    print("| check | result | |\n|---|---|---|")
    for case in ElementTree.parse(sys.argv[1]).iter("testcase"):
        other = next((part for part in case if part.tag in ("failure", "error", "skipped")), None)
        why = "" if other is None else (other.get("message") or other.text or "")
        cells = (case.get("name", ""), "passed" if other is None else other.tag, why)
        print("|", " | ".join(html.escape(" ".join(cell.split()), False).replace("|", "&#124;") for cell in cells), "|")
END
    exit "$1"
}

rm -f -- "$junit"
case $WAY in
duet)
    compared=(duet -o "$OUTPUT/duet" --tps "$RATE" --for "$DURATION" --fail-above "$FAIL_ABOVE" -- "$LOG" "$BASELINE" "$CANDIDATE")
    ;;
compare)
    runs=()
    for turn in 1 2 3; do
        for side in "a $BASELINE" "b $CANDIDATE"; do
            run=$OUTPUT/$turn${side%% *}.csv
            logreplay run -o "$run" --junit "$junit" --tps "$RATE" --for "$DURATION" -- "$LOG" "${side#* }"
            code=$?
            [[ $code = [03] ]] || ended $code # 3: the comparison says which run is invalid
            runs+=("$run")
        done
    done
    compared=(compare --fail-above "$FAIL_ABOVE" -- "${runs[@]}")
    ;;
*)
    echo "way '$WAY': expected duet or compare" >&2
    ended 2
    ;;
esac
rm -f -- "$junit" # of the last run
logreplay "${compared[0]}" --json --junit "$junit" "${compared[@]:1}" > "$OUTPUT/comparison.json"
ended $?
