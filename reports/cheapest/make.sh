#!/usr/bin/env bash
# Writes the study of this folder anew: the cheapest way to train RevNet-50 in a day.
# Usage: reports/cheapest/make.sh [PROGRAM [FOLDER]]
# PROGRAM is build/petrasim unless given; FOLDER receives the files, reports/cheapest unless given.
set -eu
export LC_ALL=C

here=$(dirname -- "$(readlink -f -- "$0")")
root=$(readlink -f -- "$here/../..")
program=$(readlink -f -- "${1:-$root/build/petrasim}")
folder=$(readlink -f -- "${2:-$here}")
cd "$root"

for goal in scenarios/study/cheapest/*.json; do
    name=$(basename -- "$goal" .json)
    "$program" plan --format md --out "$folder/$name.md" "$goal"
done
