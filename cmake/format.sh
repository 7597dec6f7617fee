#!/usr/bin/env bash
# Holds every C and C++ source against .clang-format; the reference is clang-format 14 (Debian 12).
# Usage: cmake/format.sh [--fix]
# Exit 0: all is well; 1: some file differs; 3: not checked, because it is another version.
set -eu

major=14
root=$(dirname -- "$(dirname -- "$(readlink -f -- "$0")")")
formatter=$(command -v "clang-format-$major" || command -v clang-format || true)
found=$("${formatter:-false}" --version 2>/dev/null | sed -n 's/.*version \([0-9]*\)\..*/\1/p' || true)

if [ "$found" != "$major" ]; then
    echo "format: NOT CHECKED: clang-format $major is needed, ${found:-none} was found" >&2
    exit 3
fi
if [ "${1-}" = --fix ]; then
    mode=(-i)
else
    mode=(--dry-run -Werror)
fi
mapfile -d '' -t sources < <(cd "$root" && find sim kernels tests -type f \
    \( -name '*.c' -o -name '*.h' -o -name '*.cpp' -o -name '*.cu' \) -print0 | sort -z)
if [ "${#sources[@]}" -eq 0 ]; then
    echo "format: no sources found under $root" >&2
    exit 1
fi
cd "$root"
"$formatter" --style=file "${mode[@]}" "${sources[@]}"
echo "format: ${#sources[@]} files as .clang-format wants them"
