#!/usr/bin/env bash
# Commits the documentation of this checkout to the branch gh-pages, with mike: `latest` is the main branch, each release
# has a folder for its minor version (1.0), and `stable` is the newest release. GITHUB_REF_NAME: main, or a release's tag.
set -euo pipefail
git config user.name "github-actions[bot]"
git config user.email 41898282+github-actions[bot]@users.noreply.github.com
git fetch -q origin gh-pages:gh-pages || true # the first time there is none
newest=$(git tag --list | grep -E '^v[0-9]+\.[0-9]+\.[0-9]+$' | sort -V | tail -n 1 || true)

if [[ $GITHUB_REF_NAME = main ]]; then
    mike deploy --title "latest (development)" latest
elif [[ $GITHUB_REF_NAME =~ ^v([0-9]+\.[0-9]+)\.[0-9]+$ ]]; then
    names=("${BASH_REMATCH[1]}")
    if [[ $GITHUB_REF_NAME = "$newest" ]]; then names+=(stable); fi # not the repair of an older version
    mike deploy --update-aliases --title "${GITHUB_REF_NAME#v}" "${names[@]}"
else
    echo "$GITHUB_REF_NAME is no release: its documentation is not published"
    exit
fi
mike set-default --allow-undefined "$([[ $newest ]] && echo stable || echo latest)"
