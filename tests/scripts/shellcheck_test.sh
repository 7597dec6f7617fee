#!/usr/bin/env bash
# Every shell script of the project is clean under shellcheck; exit 77 (skipped) without it.
# Usage: shellcheck_test.sh ROOT
set -eu

command -v shellcheck >/dev/null || exit 77
cd "$1"
mapfile -t scripts < <(find cmake tests -name '*.sh' | sort)
scripts+=(run.sh test.sh .ci/run)
shellcheck --external-sources "${scripts[@]}"
echo "${#scripts[@]} scripts are clean"
# shellcheck disable=SC2016  # the fault is in the quotes
if printf '#!/bin/bash\nrm $1\n' | shellcheck - >/dev/null; then
    echo "shellcheck finds nothing wrong with an unquoted word"
    exit 1
fi
