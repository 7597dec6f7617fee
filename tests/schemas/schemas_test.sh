#!/usr/bin/env bash
# Installs the validator of package-lock.json into a folder of the build and runs schemas_test.mjs.
# Exit 77 (skipped) without Node.js 18, npm, or the packages.
# Usage: schemas_test.sh ROOT FOLDER PROGRAM
set -eu

root=$1 folder=$2 program=$3
here=$root/tests/schemas

skip() {
    echo "skipped: $1"
    exit 77
}

command -v node >/dev/null || skip "there is no node"
command -v npm >/dev/null || skip "there is no npm"
[ "$(node -p 'process.versions.node.split(".")[0] >= 18')" = true ] || skip "node is older than 18"

mkdir -p "$folder"
if ! cmp -s "$here/package-lock.json" "$folder/installed"; then
    rm -f "$folder/installed"
    cp "$here/package.json" "$here/package-lock.json" "$folder/"
    (cd "$folder" && npm ci --ignore-scripts --no-audit --no-fund --fetch-retries=1) ||
        skip "npm cannot install the packages of tests/schemas/package-lock.json"
    cp "$here/package-lock.json" "$folder/installed"
fi
exec node "$here/schemas_test.mjs" "$folder" "$root" "$program"
