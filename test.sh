#!/usr/bin/env bash
# Installs what is missing (Debian), builds petrasim and its tests into build/ and runs them.
# Usage: ./test.sh [further options of ctest, such as -L unit or -R layering]
# Exit 4: packages are missing and cannot be installed from here.
set -eu

psim_root=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")
# shellcheck source=cmake/bootstrap.sh
. "$psim_root/cmake/bootstrap.sh"

psim_install_packages "${PSIM_BUILD_PACKAGES[@]}" "${PSIM_TEST_PACKAGES[@]}"
psim_configure release "$psim_root/build" CMAKE_BUILD_TYPE=Release BUILD_TESTING=ON
psim_build "$psim_root/build"
exec ctest --test-dir "$psim_root/build" --output-on-failure --no-tests=error \
    -j "$(nproc)" "$@"
