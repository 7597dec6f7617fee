#!/usr/bin/env bash
# tests/gpu/check.sh on machines that are only pretended: without a GPU, without a toolkit, and with
# programs that pass, skip or fail.
# Usage: check_test.sh ROOT
set -eu

root=$(readlink -f -- "$1")
scratch=$(mktemp -d "${TMPDIR:-/tmp}/petrasim gpu.XXXXXX")
trap 'rm -rf -- "$scratch"' EXIT
bin=$scratch/bin
build=$scratch/build
failures=0
mkdir -p "$bin" "$build"

# stand_in PATH: a program whose script is on stdin.
stand_in() {
    { echo '#!/bin/bash' && cat; } >"$1"
    chmod +x "$1"
}

# check WHAT CODE WORDS: runs check.sh; its exit code and something that it must say.
check() {
    local code=0
    rm -rf -- "$scratch/out"
    # No toolkit of this machine's own: only what stands in $bin, and the system's folders.
    PATH=$bin:/usr/bin:/bin CUDA_HOME='' CUDA_PATH='' \
        bash "$root/tests/gpu/check.sh" --out "$scratch/out" --build "$build" \
        >"$scratch/said" 2>&1 || code=$?
    if [ "$code" -ne "$2" ] || ! grep -qF -- "$3" "$scratch/said"; then
        echo "$1: exit $code, expected $2 and \"$3\"; it said:"
        cat "$scratch/said"
        failures=$((failures + 1))
    fi
}

# report PATTERN: the one file that was written must match it.
report() {
    if ! cat "$scratch"/out/*.json 2>/dev/null | grep -q -- "$1"; then
        echo "the report lacks: $1"
        failures=$((failures + 1))
    fi
}

stand_in "$bin/nvidia-smi" <<<'echo "NVIDIA-SMI has failed" >&2; exit 9'
check "no GPU" 4 "NOT RUN: this machine has no NVIDIA GPU"
if [ -e "$scratch/out" ]; then
    echo "no GPU: something was written"
    failures=$((failures + 1))
fi

stand_in "$bin/nvidia-smi" <<<'echo "NVIDIA Pretended \"7\", 1.2, 3 MiB"'
stand_in "$bin/nvcc" <<<'echo "Build pretended"'
stand_in "$bin/cmake" <<<'echo "no such architecture"; exit 1'
check "does not build" 1 "no such architecture"

stand_in "$bin/cmake" <<<'exit 0'
# shellcheck disable=SC2016  # it is the stand-in that expands it
stand_in "$bin/python3" <<<'[ "$1" = -c ] || { echo "no PyTorch" >&2; exit 4; }'
mkdir "$build/no-cudnn"
for name in conformance no-cudnn/conformance bench_kernels bench_step bench_reversibility; do
    stand_in "$build/$name" <<<'echo "{\"figure\": 1}"'
done
check "all pass, no PyTorch, no cmocka" 0 "passed in"
report '"passed": true'
report '"conformance_bf16": {"verdict": "passed"'
report '"result": {"figure": 1}'
report '"step_torch_fp32": {"verdict": "not there", "seconds": [0-9]*, "last_words": "no PyTorch"'
report '"device_test": {"verdict": "not built"'
report '"gpu": "NVIDIA Pretended \\"7\\", 1.2, 3 MiB"'

stand_in "$build/conformance" <<<'exit 77'
check "skipped is not passed" 1 "FAILED: 3 parts"
report '"passed": false'
report '"conformance_fp32": {"verdict": "skipped"'

stand_in "$build/conformance" <<<'echo "{}"'
for failed in 1 4; do
    stand_in "$build/cuda_device_test" <<<"echo '$failed failed' >&2; exit $failed"
    check "$failed failed tests fail the whole" 1 "FAILED: 1 parts"
    report "\"device_test\": {\"verdict\": \"failed\", \"seconds\": [0-9]*, \"last_words\": \"$failed failed\""
done

rm "$build/bench_step"
rm "$build/cuda_device_test"
check "a missing benchmark fails the whole" 1 "FAILED: 2 parts"

bash "$root/tests/gpu/check.sh" --bogus 2>/dev/null && failures=$((failures + 1))
exit $((failures > 0))
