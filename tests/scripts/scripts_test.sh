#!/usr/bin/env bash
# run.sh and test.sh on machines that are only pretended: every program that would change this one
# (apt-get, sudo, cmake, ninja, ctest) is a stand-in that notes how it was called.
# Usage: scripts_test.sh ROOT
set -eu

source_root=$(readlink -f -- "$1")
scratch=$(mktemp -d "${TMPDIR:-/tmp}/petrasim scripts.XXXXXX")
trap 'chmod -R u+w -- "$scratch"; rm -rf -- "$scratch"' EXIT
bin=$scratch/bin
root="$scratch/a clone"
failures=0

# stand_in NAME: makes the program NAME from the script on stdin.
stand_in() {
    { printf '#!/bin/bash\nprintf "%%s\\n" "%s $*" >>"%s/calls"\n' "$1" "$scratch" && cat; } \
        >"$bin/$1"
    chmod +x "$bin/$1"
}

# A fresh machine: user id $1; sudo works or not ($2); the packages in $3 are installed.
fresh_machine() {
    chmod -R u+w -- "$scratch"
    rm -rf -- "${scratch:?}"/*
    mkdir -p "$bin" "$root/cmake" "$scratch/home"
    cp "$source_root/run.sh" "$source_root/test.sh" "$root"
    cp "$source_root/cmake/bootstrap.sh" "$root/cmake"
    chmod a-w "$scratch/home"
    printf '%s\n' "${@:3}" >"$scratch/installed"
    : >"$scratch/calls"
    stand_in id <<<"echo $1"
    stand_in sudo <<<"[ $2 = works ] || exit 1; shift; exec \"\$@\""
    stand_in dpkg-query <<EOS
grep -qxF -- "\${@: -1}" "$scratch/installed" || exit 1
echo installed
EOS
    stand_in apt-get <<EOS
echo "noise of apt-get"
[[ " \$* " = *" install "* ]] && printf '%s\n' "\$@" >>"$scratch/installed"
exit 0
EOS
    stand_in cmake <<EOS
echo "noise of cmake"
mkdir -p "$root/build"
touch "$root/build/build.ninja"
printf '%s\n' "CMAKE_HOME_DIRECTORY:INTERNAL=$root" CMAKE_GENERATOR:INTERNAL=Ninja \
    CMAKE_BUILD_TYPE:STRING=Release >"$root/build/CMakeCache.txt"
for word; do
    case \$word in -D*) sed 's/^-D//; s/=/:STRING=/' <<<"\$word" >>"$root/build/CMakeCache.txt" ;; esac
done
EOS
    stand_in ninja <<EOS
echo "noise of ninja"
printf '#!/bin/bash\nprintf "[%%s]" "\$@"\n' >"$root/build/petrasim"
chmod +x "$root/build/petrasim"
EOS
    stand_in ctest <<<'echo "100% tests passed"'
}

# script NAME ARGUMENT...: runs it without a terminal; leaves $status, and stdout and stderr.
script() {
    status=0
    PATH="$bin:$PATH" HOME="$scratch/home" "$root/$1" "${@:2}" \
        >"$scratch/stdout" 2>"$scratch/stderr" </dev/null || status=$?
}

# expect WHAT CONDITION...
expect() {
    if ! "${@:2}"; then
        printf 'FAILED: %s\n--- calls\n%s\n--- stdout\n%s\n--- stderr\n%s\n' "$1" \
            "$(cat "$scratch/calls")" "$(cat "$scratch/stdout")" "$(cat "$scratch/stderr")"
        failures=$((failures + 1))
    fi
}

called() { grep -q -- "$1" "$scratch/calls"; }
not_called() { ! called "$1"; }
says() { grep -q -- "$1" "$scratch/stderr"; }
prints() { [ "$(cat "$scratch/stdout")" = "$1" ]; }

build_packages="libsimgrid-dev libopenblas-dev libjansson-dev libmd-dev librandom123-dev libexpat1-dev"
build_packages+=" libsqlite3-dev"
build_packages+=" pkg-config cmake ninja-build gcc g++"
test_packages="libcmocka-dev libopenmpi-dev openmpi-bin clang clang-format"

neither_root_nor_sudo_prints_one_apt_line_and_exits_4() {
    local line="^apt-get update && apt-get install -y --no-install-recommends $build_packages\$"

    fresh_machine 1000 fails
    script run.sh
    expect "exit 4" [ "$status" -eq 4 ]
    expect "the apt line" says "$line"
    expect "one line of it" [ "$(grep -c install "$scratch/stderr")" -eq 1 ]
    expect "nothing on stdout" prints ""
    expect "nothing installed or built" not_called '^\(apt-get\|cmake\|ninja\)'
}

apt_line_names_only_what_is_missing() {
    fresh_machine 1000 fails libsimgrid-dev libopenblas-dev libmd-dev librandom123-dev libexpat1-dev libsqlite3-dev pkg-config cmake gcc g++
    script run.sh
    expect "the two packages" says 'recommends libjansson-dev ninja-build$'
}

test_sh_adds_what_tests_need() {
    # shellcheck disable=SC2086  # a list of words
    fresh_machine 1000 fails $build_packages
    script test.sh
    expect "exit 4" [ "$status" -eq 4 ]
    expect "the test packages" says "recommends $test_packages\$"
}

sudo_installs_and_stdout_is_the_result_alone() {
    fresh_machine 1000 works
    script run.sh --format md
    expect "exit 0" [ "$status" -eq 0 ]
    expect "through sudo" called '^sudo -n env .*DEBIAN_FRONTEND=noninteractive apt-get .*install'
    expect "lists first" called '^apt-get .*update$'
    expect "says what" says "installing Debian packages: $build_packages"
    expect "the result alone" prints \
        "[compare][$root/scenarios/table1/revnet50-imagenet.json][--format][md]"
}

root_needs_no_sudo() {
    fresh_machine 0 fails
    script run.sh
    expect "exit 0" [ "$status" -eq 0 ]
    expect "no sudo" not_called '^sudo'
}

failed_install_prints_the_apt_line_and_exits_4() {
    fresh_machine 0 fails
    stand_in apt-get <<<'echo "E: no network"; exit 100'
    script run.sh
    expect "exit 4" [ "$status" -eq 4 ]
    expect "why" says 'E: no network'
    expect "the apt line" says "^apt-get update && .* $build_packages\$"
    expect "nothing built" not_called '^cmake'
}

second_run_neither_installs_nor_configures() {
    fresh_machine 0 fails
    script run.sh
    : >"$scratch/calls"
    script run.sh
    expect "exit 0" [ "$status" -eq 0 ]
    expect "no apt-get" not_called '^apt-get'
    expect "no configuring" not_called '^cmake'
}

test_sh_after_run_sh_turns_the_tests_on_once() {
    fresh_machine 0 fails
    script run.sh
    expect "tests are off" called '^cmake .*BUILD_TESTING=OFF'
    script test.sh -L unit
    expect "tests are on" called '^cmake .*BUILD_TESTING=ON'
    expect "arguments reach ctest" called '^ctest .* -L unit$'
    expect "ends with the summary of ctest" prints "100% tests passed"
    : >"$scratch/calls"
    script run.sh
    script test.sh
    expect "no configuring" not_called '^cmake'
}

moved_clone_is_configured_afresh() {
    fresh_machine 0 fails
    script run.sh
    : >"$scratch/calls"
    sed -i 's|^CMAKE_HOME_DIRECTORY.*|CMAKE_HOME_DIRECTORY:INTERNAL=/elsewhere|' \
        "$root/build/CMakeCache.txt"
    script run.sh
    expect "configured again" called '^cmake'
}

from_its_own_folder_the_scenario_is_named_as_documented() {
    fresh_machine 0 fails
    cd "$root"
    script run.sh
    cd "$scratch"
    expect "a relative name" prints "[compare][scenarios/table1/revnet50-imagenet.json]"
}

failed_build_shows_why_and_fails() {
    fresh_machine 0 fails
    stand_in ninja <<<'echo "error: no such thing"; exit 1'
    script run.sh
    expect "fails" [ "$status" -eq 1 ]
    expect "why" says 'error: no such thing'
    expect "nothing on stdout" prints ""
}

# The checker itself must be able to fail.
wrong_expectation_is_noticed() {
    local before=$failures

    fresh_machine 1000 fails
    script run.sh
    expect "exit 0 (must not hold)" [ "$status" -eq 0 ] >/dev/null
    if [ "$failures" -ne $((before + 1)) ]; then
        echo "FAILED: a wrong expectation passed"
        failures=$((failures + 1))
    else
        failures=$before
    fi
}

cd "$scratch"
for case in neither_root_nor_sudo_prints_one_apt_line_and_exits_4 \
    apt_line_names_only_what_is_missing test_sh_adds_what_tests_need \
    sudo_installs_and_stdout_is_the_result_alone root_needs_no_sudo \
    failed_install_prints_the_apt_line_and_exits_4 second_run_neither_installs_nor_configures \
    test_sh_after_run_sh_turns_the_tests_on_once moved_clone_is_configured_afresh \
    from_its_own_folder_the_scenario_is_named_as_documented failed_build_shows_why_and_fails \
    wrong_expectation_is_noticed; do
    before=$failures
    "$case"
    if [ "$failures" -eq "$before" ]; then
        echo "passed: $case"
    fi
done
[ "$failures" -eq 0 ]
