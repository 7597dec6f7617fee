#!/usr/bin/env bash
# Shows a checker what it must reject: passes when COMMAND exits 1 and prints exactly what the file
# EXPECTED holds.
# Usage: rejects.sh EXPECTED COMMAND...
set -u

expected=$1
shift
got=$("$@")
status=$?
if [ "$status" -ne 1 ]; then
    echo "exit status $status, expected 1"
    exit 1
fi
diff -u "$expected" - <<<"$got" && echo "rejected as it must be:" && cat "$expected"
