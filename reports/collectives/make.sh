#!/usr/bin/env bash
# Writes the reports of this folder anew.
# Usage: reports/collectives/make.sh [PROGRAM [FOLDER]]
# PROGRAM is build/petrasim unless given; FOLDER receives the files, reports/collectives unless
# given.
set -eu
export LC_ALL=C

here=$(dirname -- "$(readlink -f -- "$0")")
root=$(readlink -f -- "$here/../..")
program=$(readlink -f -- "${1:-$root/build/petrasim}")
folder=$(readlink -f -- "${2:-$here}")
cd "$root"

data=tests/data/collectives
scratch=$(mktemp -d)
trap 'rm -rf -- "$scratch"' EXIT

# Predicted lines "platform,bytes,busbw,tag" of every platform that was measured.
for platform in $(grep -v '^#' "$data/all_reduce.csv" | tail -n +2 | cut -d, -f1 | uniq); do
    file=platforms/clusters/$platform.json
    [ -f "$file" ] || file=$data/$platform.json
    "$program" collective "$file" --format csv | tr -d '\r' | tail -n +2 |
        awk -F, -v p="$platform" '{ print p "," $1 "," $4 "," $6 }'
done >"$scratch/predicted.csv"

# Joined: platform, set, bytes, measured and predicted GB/s, error in percent.
awk -F, '
    FNR == NR { rate[$1, $2] = $3; tag[$1, $2] = $4; next }
    /^#/ || $1 == "platform" { next }
    {
        measured = 2 * ($2 - 1) / $2 * $3 / $4 / 1e3
        got = rate[$1, $3] / 1e9
        set = $5 == "other" ? "other host" : tag[$1, $3] == "measured" ? "fitted" : "held out"
        off = 100 * (got / measured - 1)
        if (off * off < 0.0025)
            off = 0
        printf "%s,%s,%.0f,%.2f,%.2f,%.2f\n", $1, set, $3, measured, got, off
    }' "$scratch/predicted.csv" "$data/all_reduce.csv" >"$scratch/joined.csv"

# Mean and largest error per platform and set, in the order of the data.
awk -F, '
    { key = $1 "," $2; if (!(key in n)) order[++keys] = key
      e = $6 < 0 ? -$6 : $6; n[key]++; sum[key] += e; if (e > most[key]) most[key] = e }
    END { for (i = 1; i <= keys; i++) { k = order[i]
              printf "%s,%d,%.1f,%.1f\n", k, n[k], sum[k] / n[k], most[k] } }
    ' "$scratch/joined.csv" >"$scratch/summary.csv"

{
    cat <<'TEXT'
# All-reduce: predicted against measured bus bandwidth

Written by `reports/collectives/make.sh`; every figure is from 1 MiB up, errors are
|predicted / measured - 1|. "fitted" are the sizes that `platforms/collectives/` holds (2^odd bytes),
"held out" those between, which no curve has seen. "other host" is a second machine of the same
kind, measured by others: it shows how far two hosts lie apart, and nothing is fitted to it. The
shape between the fitted sizes (straight in the logarithms of size and rate) and which half of the
sizes is fitted were chosen with all sizes in view; the worst held-out size of the p4de, 16 MiB,
lies where the measured curve bends.

| platform | set | sizes | mean error | largest error |
|---|---|---|---|---|
TEXT
    awk -F, '{ printf "| %s | %s | %d | %s %% | %s %% |\n", $1, $2, $3, $4, $5 }' \
        "$scratch/summary.csv"
    printf '\n%s\n%s\n' '| platform | set | bytes | measured GB/s | predicted GB/s | error |' \
        '|---|---|---|---|---|---|'
    awk -F, '{ printf "| %s | %s | %s | %s | %s | %+.1f %% |\n", $1, $2, $3, $4, $5, $6 }' \
        "$scratch/joined.csv"
    printf '\nSources of the measurements: `tests/data/collectives/all_reduce.csv`.\n'
} >"$folder/README.md"

{
    printf '{\n  "petrasim": "collective_accuracy/1",\n  "summary": [\n'
    awk -F, '{
        printf "%s    { \"platform\": \"%s\", \"set\": \"%s\", \"sizes\": %d,\n", sep, $1, $2, $3
        printf "      \"mean_error_percent\": %s, \"max_error_percent\": %s }", $4, $5
        sep = ",\n"
    }' "$scratch/summary.csv"
    printf '\n  ],\n  "sizes": [\n'
    awk -F, '{
        printf "%s    { \"platform\": \"%s\", \"set\": \"%s\", \"bytes\": %s,\n", sep, $1, $2, $3
        printf "      \"measured_GB_per_s\": %s, \"predicted_GB_per_s\": %s }", $4, $5
        sep = ",\n"
    }' "$scratch/joined.csv"
    printf '\n  ]\n}\n'
} >"$folder/accuracy.json"
