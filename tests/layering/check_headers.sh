#!/usr/bin/env bash
# Holds the headers of sim/ against two rules: no two have the same file name, and each compiles
# on its own (twice in a row, so its guard is tried too) as C11; what a C++ source of ours
# includes, also as C++17.
# Usage: check_headers.sh ROOT CC CXX
# Prints one line per violation; the compiler's words go to stderr.  Exit 1 if there is any, 2 if
# there was nothing to look at.
set -eu
export LC_ALL=C

cd "$1"
cc=$2
cxx=$3
bad=0
mapfile -t headers < <(find sim kernels -name '*.h' 2>/dev/null | sort)
if [ "${#headers[@]}" -eq 0 ]; then
    echo "no headers found under $1" >&2
    exit 2
fi

complain() {
    printf '%s\n' "$1"
    bad=1
}

# compiles HEADER COMPILER OPTION...
compiles() {
    local header=$1
    shift
    printf '#include "%s"\n#include "%s"\nextern int psim_not_empty;\n' "$header" "$header" |
        "$@" -I. -Wall -Wextra -Wpedantic -Werror -fsyntax-only - >&2
}

while IFS= read -r name; do
    complain "$name: the name of more than one header"
done < <(printf '%s\n' "${headers[@]}" | sed 's|.*/||' | sort | uniq -d)

for header in "${headers[@]}"; do
    compiles "$header" "$cc" -std=c11 -xc || complain "$header: does not compile on its own as C11"
done

mapfile -t shared < <(find sim -name '*.cpp' -exec \
    sed -n 's/^[[:space:]]*#[[:space:]]*include[[:space:]]*"\([^"]*\)".*/\1/p' {} + | sort -u)
for header in "${shared[@]}"; do
    compiles "$header" "$cxx" -std=c++17 -xc++ ||
        complain "$header: does not compile on its own as C++17"
done
exit "$bad"
