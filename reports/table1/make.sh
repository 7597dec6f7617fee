#!/usr/bin/env bash
# Writes the reports of this folder anew.
# Usage: reports/table1/make.sh [PROGRAM [FOLDER]]
# PROGRAM is build/petrasim unless given; FOLDER receives the files, reports/table1 unless given.
set -eu

here=$(dirname -- "$(readlink -f -- "$0")")
root=$(readlink -f -- "$here/../..")
program=$(readlink -f -- "${1:-$root/build/petrasim}")
folder=$(readlink -f -- "${2:-$here}")
cd "$root"

scenario=scenarios/table1/revnet50-imagenet.json
"$program" compare --format md --out "$folder/revnet50-imagenet.md" "$scenario"
"$program" compare --format json --out "$folder/revnet50-imagenet.json" "$scenario"
