#!/usr/bin/env bash
# On a machine with a GPU, within four minutes: builds the numerics with CUDA, holds the cuda backend
# against ref, runs the tests of inversion and the benchmarks, and writes what came out as one JSON
# file, by default reports/gpu/<date>-<device>.json.
# Usage: tests/gpu/check.sh [--out FOLDER] [--build FOLDER]
# Exit 0: all passed.  1: something failed, was skipped or ran out of time (the file says what), or
# did not build (no file).  2: bad command line.  4: this machine has no GPU or no CUDA toolkit.
set -eu
export LC_ALL=C

root=$(dirname -- "$(dirname -- "$(dirname -- "$(readlink -f -- "$0")")")")
out=$root/reports/gpu
build=$root/build-gpu
while [ $# -gt 0 ]; do
    case $1,$# in
        --out,[2-9]*) out=$2 ;;
        --build,[2-9]*) build=$2 ;;
        *)
            echo "usage: check.sh [--out FOLDER] [--build FOLDER]" >&2
            exit 2
            ;;
    esac
    shift 2
done

lacks() {
    echo "gpu check: NOT RUN: $*" >&2
    exit 4
}

gpu=$(nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader -i 0 \
    2>/dev/null) || lacks "this machine has no NVIDIA GPU, or its driver does not answer"
[ -n "$gpu" ] || lacks "this machine has no NVIDIA GPU"
nvcc=$(command -v nvcc || true)
for folder in "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda; do
    if [ -z "$nvcc" ] && [ -x "$folder/bin/nvcc" ]; then nvcc=$folder/bin/nvcc; fi
done
[ -n "$nvcc" ] || lacks "there is a GPU ($gpu), but no nvcc"
command -v cmake >/dev/null || lacks "there is a GPU ($gpu), but no cmake"

export PSIM_TEST_BACKEND=cuda # of reversibility_test
python=python3
for candidate in python3 /usr/bin/python3; do
    if "$candidate" -c 'import torch' 2>/dev/null; then
        python=$candidate
        break
    fi
done

deadline_s=235
seconds_left() {
    echo $((deadline_s - SECONDS))
}

log=$(mktemp -d "${TMPDIR:-/tmp}/petrasim-gpu.XXXXXX")
trap 'rm -rf -- "$log"' EXIT

echo "gpu check: $gpu; building" >&2
# builds FOLDER CUDNN TARGET
builds() {
    cmake -S "$root/tests/gpu" -B "$1" -DPSIM_WITH_CUDA=ON -DPSIM_NVCC="$nvcc" \
        -DPSIM_WITH_CUDNN="$2" && cmake --build "$1" -j "$(nproc)" --target "$3"
}
# Once more without cuDNN, for the convolutions that are done where it is not there.
if ! { builds "$build" AUTO all && builds "$build/no-cudnn" OFF conformance; } \
    >"$log/build" 2>&1; then
    tail -n 40 "$log/build" >&2
    echo "gpu check: FAILED: it does not build" >&2
    exit 1
fi
build_s=$SECONDS

# text STRING: as a JSON string.
text() {
    printf '"%s"' "$(printf %s "$1" | tr -d '\000-\037' | sed 's/[\\"]/\\&/g')"
}

failures=0
parts=
verdict= # of the last part

# part NAME SECONDS COMMAND...: runs it for at most so long, within what is left of the whole.  Its
# stdout is JSON, or else begins with anything but a brace.
part() {
    local name=$1 limit_s=$2 begin_s=$SECONDS code=0 result=null last
    shift 2
    if [ "$(seconds_left)" -lt "$limit_s" ]; then limit_s=$(seconds_left); fi
    if [ ! -x "$1" ] && ! command -v "$1" >/dev/null; then
        verdict="not built"
    elif [ "$limit_s" -le 0 ]; then
        verdict="no time left"
    else
        timeout -k 5 "$limit_s" "$@" >"$log/stdout" 2>"$log/stderr" </dev/null || code=$?
        case $code in
            0) verdict=passed ;;
            "$code_of_lacking") verdict="not there" ;;
            77) verdict=skipped ;;
            124 | 137) verdict="timed out" ;;
            *) verdict=failed ;;
        esac
        # Half a document is none.
        if [ "$code" -le 1 ] && [ "$(head -c 1 "$log/stdout")" = "{" ]; then
            result=$(cat "$log/stdout")
        fi
    fi
    last=$(tail -n 1 "$log/stderr" 2>/dev/null || true)
    : >"$log/stderr"
    printf 'gpu check: %-22s %4d s  %s\n' "$name" $((SECONDS - begin_s)) "$verdict" >&2
    parts+="${parts:+,}"$'\n'"    $(text "$name"): {\"verdict\": $(text "$verdict"), \"seconds\":"
    parts+=" $((SECONDS - begin_s)), \"last_words\": $(text "$last"), \"result\": $result}"
    [ "$verdict" = passed ]
}

# must NAME ...: a part without which the whole has failed.
must() {
    part "$@" || failures=$((failures + 1))
}

# may NAME ...: what is compared with, and what needs packages that the machine may lack.
may() {
    if ! part "$@"; then
        case $verdict in failed | "timed out" | "no time left") failures=$((failures + 1)) ;; esac
    fi
}

# Of programs of ours, and of step_torch.py.
code_of_lacking=4

for math in fp32 tf32 bf16; do
    must "conformance_$math" 60 "$build/conformance" cuda --math "$math" --json --complete
done
must conformance_no_cudnn 60 "$build/no-cudnn/conformance" cuda --json --complete
must reversibility 30 "$build/bench_reversibility" --backend cuda
must kernels 60 "$build/bench_kernels" --backend cuda --quick
for math in fp32 bf16; do
    must "step_$math" 25 "$build/bench_step" --backend cuda --math "$math" --net revnet50 \
        --size 224 --batch 64 --runs 7
    may "step_torch_$math" 30 "$python" "$root/tests/gpu/step_torch.py" --net revnet50 --size 224 \
        --batch 64 --math "$math" --runs 10
done
# The tests of cmocka end with the number of those that failed.
code_of_lacking=none
may device_test 30 "$build/cuda_device_test"
may golden_test 30 "$build/golden_test"
may inversion_test 60 "$build/reversibility_test"

device=$(printf %s "${gpu%%,*}" | tr '[:upper:] ' '[:lower:]-' | tr -cd 'a-z0-9-')
file=$out/$(date -u +%Y-%m-%d)-$device.json
mkdir -p "$out"
{
    printf '{\n  "date": "%s",\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)"
    printf '  "gpu": %s,\n' "$(text "$gpu")"
    printf '  "commit": %s,\n' "$(text "$(git -C "$root" rev-parse HEAD 2>/dev/null || echo unknown)")"
    printf '  "nvcc": %s,\n' "$(text "$("$nvcc" --version | tail -n 1)")"
    printf '  "build_seconds": %d,\n  "seconds": %d,\n' "$build_s" "$SECONDS"
    printf '  "passed": %s,\n' "$([ "$failures" -eq 0 ] && echo true || echo false)"
    printf '  "parts": {%s\n  }\n}\n' "$parts"
} >"$file.new"
mv -- "$file.new" "$file"
echo "gpu check: $file" >&2
if [ "$failures" -gt 0 ]; then
    echo "gpu check: FAILED: $failures parts" >&2
    exit 1
fi
echo "gpu check: passed in $SECONDS s" >&2
