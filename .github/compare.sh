#!/usr/bin/env bash
# The step of action.yml: compares two versions, appends a table to the summary of the job, and writes junit.xml.
# Its inputs are variables; exit code 3: not judged, 4: the candidate is slower or fails more.
set -uo pipefail
mkdir -p "$OUTPUT"
case $WAY in
duet)
    compared=(duet "$LOG" "$BASELINE" "$CANDIDATE" --tps "$RATE" --for "$DURATION" -o "$OUTPUT/duet" --json)
    ;;
compare)
    runs=()
    for turn in 1 2 3; do
        logreplay run "$LOG" "$BASELINE" --tps "$RATE" --for "$DURATION" -o "$OUTPUT/${turn}a.csv" || exit
        logreplay run "$LOG" "$CANDIDATE" --tps "$RATE" --for "$DURATION" -o "$OUTPUT/${turn}b.csv" || exit
        runs+=("$OUTPUT/${turn}a.csv" "$OUTPUT/${turn}b.csv")
    done
    compared=(compare "${runs[@]}" --json)
    ;;
*)
    echo "way '$WAY': expected duet or compare" >&2
    exit 2
    ;;
esac
logreplay "${compared[@]}" --fail-above "$FAIL_ABOVE" --junit "$OUTPUT/junit.xml" > "$OUTPUT/comparison.json"
code=$?
python3 - "$OUTPUT/junit.xml" "$code" >> "${GITHUB_STEP_SUMMARY:-/dev/stdout}" <<'END'
import sys
from xml.etree import ElementTree

print(f"### logreplay: {({0: 'passed', 3: 'not judged', 4: 'failed'}).get(int(sys.argv[2]), 'error')}\n")
print("| check | result | |\n|---|---|---|")
for case in ElementTree.parse(sys.argv[1]).iter("testcase"):
    other = next((part for part in case if part.tag in ("failure", "error", "skipped")), None)
    said = "" if other is None else (other.get("message") or other.text or "")
    print(f"| {case.get('name')} | {'passed' if other is None else other.tag} | {' '.join(said.split())} |")
END
exit "$code"
