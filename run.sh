#!/usr/bin/env bash
# Installs what is missing (Debian), builds petrasim into build/ and prints the Table 1 comparison.
# Usage: ./run.sh [further options of `petrasim compare`]
# stdout is the result alone; exit 4: packages are missing and cannot be installed from here.
set -eu

psim_root=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")
# shellcheck source=cmake/bootstrap.sh
. "$psim_root/cmake/bootstrap.sh"

psim_install_packages "${PSIM_BUILD_PACKAGES[@]}"
if [ -f "$psim_root/build/CMakeCache.txt" ]; then
    psim_configure release "$psim_root/build" CMAKE_BUILD_TYPE=Release
else
    # The tests need further packages; test.sh turns them on.
    psim_configure release "$psim_root/build" CMAKE_BUILD_TYPE=Release BUILD_TESTING=OFF
fi
psim_build "$psim_root/build" psim_programs

scenario=scenarios/table1/revnet50-imagenet.json
if [ "$(readlink -f .)" != "$psim_root" ]; then
    scenario=$psim_root/$scenario
fi
exec "$psim_root/build/petrasim" compare "$scenario" "$@"
