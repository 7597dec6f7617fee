#!/usr/bin/env bash
# Installs petrasim into a fresh prefix, moves it, and uses it from there as an outside project
# would: through CMake, through pkg-config, and as a program that must find its catalogues.
# Usage: consumer_test.sh BUILD SOURCE CC CFLAGS
#   BUILD   a finished build of petrasim
#   SOURCE  this folder
#   CC      the compiler of that build; CFLAGS are those its objects demand of a link (sanitizers)
set -eu

build=$1
source=$2
cc=$3
cflags=$4
scratch=$(mktemp -d "${TMPDIR:-/tmp}/petrasim consumer.XXXXXX")
trap 'rm -rf -- "$scratch"' EXIT

fail() {
    echo "consumer: $*" >&2
    exit 1
}

# Runs a consumer and holds what it prints against published figures: RevNet-50 with biased
# convolutions has 30,421,608 parameters at 1000 classes.
check_consumer() {
    local got
    got=$("$1" "$prefix/share/petrasim/scenarios/table1/revnet50-imagenet.json" \
        "$prefix/share/petrasim/platforms") || fail "$1 failed"
    printf '%s\n' "$got"
    grep -q '^revnet50: 30421608 parameters$' <<<"$got" || fail "wrong figures from $1"
}

cmake --install "$build" --prefix "$scratch/staged" >"$scratch/install.log" ||
    fail "install: $(cat "$scratch/install.log")"
prefix="$scratch/moved tree"
mv "$scratch/staged" "$prefix"

cmake -S "$source" -B "$scratch/build" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" \
    -DCMAKE_C_COMPILER="$cc" -DCMAKE_C_FLAGS="$cflags" >"$scratch/cmake.log" 2>&1 ||
    fail "configure: $(cat "$scratch/cmake.log")"
cmake --build "$scratch/build" >"$scratch/cmake.log" 2>&1 || fail "build: $(cat "$scratch/cmake.log")"
check_consumer "$scratch/build/consumer"

# Words of pkg-config are escaped for a shell to read.
pc_path=$(dirname "$(find "$prefix" -name petrasim.pc)")
PKG_CONFIG_PATH=$pc_path pkg-config --exists --print-errors "petrasim >= 0.1" || fail "pkg-config"
words=$(PKG_CONFIG_PATH=$pc_path pkg-config --cflags --libs --static petrasim)
eval "\"\$cc\" -std=c11 -Wall -Werror $cflags \"\$source/consumer.c\" -o \"\$scratch/with_pc\" $words" ||
    fail "build with pkg-config"
check_consumer "$scratch/with_pc"

# The version that is asked for must matter.
if PKG_CONFIG_PATH=$pc_path pkg-config --exists "petrasim >= 999"; then
    fail "pkg-config accepts any version"
fi

# The installed program must use the installed catalogue, not that of the source tree it was built
# in: a device that only the former has must be listed.
devices=$prefix/share/petrasim/platforms/devices
sed '0,/"name"/s/"name": *"[^"]*"/"name": "only-installed"/; /"aliases"/d' \
    "$(find "$devices" -name '*.json' | sort | head -n 1)" >"$devices/only-installed.json"
cd "$scratch"
"$prefix/bin/petrasim" --version || fail "petrasim --version"
"$prefix/bin/petrasim" list devices >"$scratch/devices" || fail "petrasim list devices"
grep -q only-installed "$scratch/devices" ||
    fail "the installed program does not list the installed catalogue: $(cat "$scratch/devices")"
