#!/usr/bin/env bash
# Writes the study of this folder anew: how few GPUs, and how large a model, by method and cluster.
# Usage: reports/capacity/make.sh [PROGRAM [FOLDER]]
# PROGRAM is build/petrasim unless given; FOLDER receives the files, reports/capacity unless given.
set -eu
export LC_ALL=C

here=$(dirname -- "$(readlink -f -- "$0")")
root=$(readlink -f -- "$here/../..")
program=$(readlink -f -- "${1:-$root/build/petrasim}")
folder=$(readlink -f -- "${2:-$here}")
cd "$root"
scratch=$(mktemp -d)
trap 'rm -rf -- "$scratch"' EXIT

clusters=(a100-40 a100-80 v100-16)
methods=(backprop reversible_backprop gpipe "gpipe, recompute" one_f_one_b pipedream
    delayed_gradients delayed_gradients_checkpoint petra)

# answer GOAL METHOD COLUMN...: cells of the method's row in "Best plan of each method".
answer() {
    local report=$1 method=$2
    shift 2
    awk -F' *[|] *' -v method="$method" -v wanted="$*" '
        /^### / { inside = /Best plan of each method/; head = 1; next }
        inside && /^[|]/ && head { for (i = 2; i < NF; i++) name[$i] = i; head = 0; next }
        inside && /^[|]/ {
            row = $name["method"]
            gsub(/\\/, "", row)
            if (row != method) next
            n = split(wanted, columns, " ")
            for (i = 1; i <= n; i++) {
                key = columns[i]
                gsub(/~/, " ", key)
                printf "%s%s", (i == 1 ? "" : " "), $name[key]
            }
        }' "$report"
}

# table TITLE NET QUESTION COLUMN...
table() {
    local title=$1 net=$2 question=$3 cluster method cell
    shift 3
    printf '\n## %s\n\n| method |' "$title"
    printf ' %s |' "${clusters[@]}"
    printf '\n| :--- |'
    printf ' ---: |%.0s' "${clusters[@]}"
    printf '\n'
    for method in "${methods[@]}"; do
        printf '| %s |' "$method"
        for cluster in "${clusters[@]}"; do
            cell=$(answer "$scratch/$cluster-$net-$question.md" "$method" "$@")
            printf ' %s |' "${cell:--}"
        done
        printf '\n'
    done
}

for goal in scenarios/study/capacity/*.json; do
    name=$(basename -- "$goal" .json)
    "$program" plan --format md --out "$scratch/$name.md" "$goal"
done
{
    printf '# How few GPUs, and how large a model\n'
    for net in revnet50 resnet50; do
        table "Fewest GPUs for $net at 1000 samples a second" "$net" fewest 'GPUs'
        table "Largest $net by width on 16 GPUs at 50 samples a second: network, parameters" \
            "$net" width 'model' 'parameters'
        table "Largest $net by depth on 16 GPUs at 50 samples a second: network, parameters" \
            "$net" depth 'model' 'parameters'
    done
} >"$scratch/capacity.md"
cp -- "$scratch/capacity.md" "$folder/capacity.md"
