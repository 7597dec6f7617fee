#!/usr/bin/env bash
# Holds every #include of sim/ and kernels/ against the table of who may use whom.
# Usage: check_includes.sh ROOT
# Prints one line per violation; exit 1 if there is any, 2 if there was nothing to look at.
set -eu
export LC_ALL=C

cd "$1"
folders=()
for folder in sim kernels; do
    [ -d "$folder" ] && folders+=("$folder")
done
found=
if [ "${#folders[@]}" -gt 0 ]; then
    found=$(grep -rnE '^[[:space:]]*#[[:space:]]*include' --include='*.[ch]' --include='*.cpp' \
        --include='*.cu' "${folders[@]}" | sort -t: -k1,1 -k2,2n || true)
fi
if [ -z "$found" ]; then
    echo "no #include found under $1" >&2
    exit 2
fi

# The tables.  uses[F] lists the folders of sim/ whose headers F may include, beside its own;
# a folder that is not listed may not exist.  only[H] is the one place for a foreign header: a
# pattern that the path of the including file must match.
awk '
BEGIN {
    uses["base"] = ""
    uses["model"] = uses["platform"] = uses["method"] = uses["collective"] = "base"
    uses["cost"] = "base model platform"
    uses["program"] = uses["cost"] " cost method collective"
    uses["engine"] = uses["report"] = uses["program"] " program"
    uses["config"] = "base model platform method collective"
    uses["import"] = "base model platform"
    uses["plan"] = uses["program"] " program engine config report"
    uses["cli"] = uses["program"] " program engine config import report plan kernels"
    uses["kernels"] = "base"

    only["jansson.h"] = "^sim/(config|report)/"
    only["simgrid/"] = "^sim/engine/[^/]*[.]cpp$"
    only["xbt/"] = "^sim/engine/[^/]*[.]cpp$"
    only["sha256.h"] = only["sha2.h"] = "^sim/config/"
    only["expat.h"] = "^sim/import/"
    only["sqlite3.h"] = only["mpi.h"] = "^sim/plan/"
    only["cblas.h"] = "^kernels/openblas/"
    only["cublas_v2.h"] = only["cuda_runtime.h"] = only["cuda_runtime_api.h"] = only["cudnn.h"] = \
        "^kernels/cuda/machine/"
}

function complain(what) {
    printf "%s:%s: %s\n", file, line, what
    bad = 1
}

# "sim/engine/shim.h" -> "engine"; "kernels/ref/gemm.h" -> "kernels"
function folder_of(path, parts) {
    split(path, parts, "/")
    return parts[1] == "sim" ? parts[2] : parts[1]
}

function check_ours(name, target) {
    if (name !~ /^(sim\/.*\/|kernels\/)/ || name ~ /[.][.]/) {
        complain("write \"" name "\" as a path from the root of the project")
        return
    }
    target = folder_of(name)
    if (target != folder && index(" " uses[folder] " ", " " target " ") == 0)
        complain(folder " must not include \"" name "\" (may use: " \
                 (uses[folder] == "" ? "nothing" : uses[folder]) ")")
}

function check_foreign(name, header) {
    if (name ~ /^(sim|kernels)\//)
        complain("write <" name "> in double quotes")
    for (header in only)
        if ((header ~ /\/$/ ? index(name, header) == 1 : name == header) && file !~ only[header])
            complain("<" name "> is only for files that match " only[header])
}

{
    file = $0
    sub(/:.*/, "", file)
    rest = substr($0, length(file) + 2)
    line = rest
    sub(/:.*/, "", line)
    sub(/^[0-9]*:[ \t]*#[ \t]*include[ \t]*/, "", rest)
    folder = folder_of(file)

    if (!(folder in uses))
        complain("the folder " folder " has no row in the table of who may use whom")
    else if (match(rest, /^"[^"]*"/))
        check_ours(substr(rest, 2, RLENGTH - 2))
    else if (match(rest, /^<[^>]*>/))
        check_foreign(substr(rest, 2, RLENGTH - 2))
    else
        complain("an include that cannot be checked: " rest)
}

END {
    exit bad
}' <<<"$found"
