# shellcheck shell=bash
# What run.sh, test.sh and .ci/run share: Debian packages, configuring, building.
# Sourced with $psim_root set to the project's folder.  Everything is said on stderr, so that
# stdout stays free for results.

: "${psim_root:?must be set before this file is sourced}"

# Exit code for what this machine lacks; the program itself uses the same one.
PSIM_EXIT_LACKS=4

# shellcheck disable=SC2034  # the lists are used by those who source this
PSIM_BUILD_PACKAGES=(libsimgrid-dev libopenblas-dev libjansson-dev libmd-dev librandom123-dev
    libexpat1-dev libsqlite3-dev pkg-config cmake ninja-build gcc g++)
# shellcheck disable=SC2034
PSIM_TEST_PACKAGES=(libcmocka-dev libopenmpi-dev openmpi-bin clang clang-format)

psim_say() {
    printf 'petrasim: %s\n' "$*" >&2
}

# Runs a command and shows its output only if it fails.
psim_quietly() {
    local output status=0
    output=$("$@" 2>&1 </dev/null) || status=$?
    if [ "$status" -ne 0 ]; then
        printf '%s\n' "$output" >&2
    fi
    return "$status"
}

# Prints those of the named packages that are not installed, one a line.
psim_missing_packages() {
    local package
    for package in "$@"; do
        dpkg-query -W -f='${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed ||
            printf '%s\n' "$package"
    done
}

# Installs those of the named packages that are missing; ends the script where that cannot be done.
psim_install_packages() {
    local missing as_root=()
    if ! command -v dpkg-query >/dev/null; then
        psim_say "not a Debian system: packages are not checked ($*)"
        return 0
    fi
    mapfile -t missing < <(psim_missing_packages "$@")
    if [ "${#missing[@]}" -eq 0 ]; then
        return 0
    fi
    if [ "$(id -u)" -ne 0 ]; then
        if ! command -v sudo >/dev/null || ! sudo -n true 2>/dev/null </dev/null; then
            psim_say "packages are missing, and there is neither root nor sudo; as root, run:"
            psim_apt_line "${missing[@]}"
            exit "$PSIM_EXIT_LACKS"
        fi
        as_root=(sudo -n)
    fi
    # dpkg needs the administrator's folders, which a plain `su` leaves out.
    as_root+=(env "PATH=$PATH:/usr/sbin:/sbin" DEBIAN_FRONTEND=noninteractive apt-get -q
        -o Acquire::Retries=3 -o DPkg::Lock::Timeout=300)
    psim_say "installing Debian packages: ${missing[*]}"
    # Of several package sources one may be out of reach: what matters is the install that follows.
    psim_quietly "${as_root[@]}" update || psim_say "apt-get update failed; trying to go on"
    if ! psim_quietly "${as_root[@]}" install -y --no-install-recommends "${missing[@]}" ||
        [ -n "$(psim_missing_packages "${missing[@]}")" ]; then
        psim_say "could not install packages; as root, run:"
        psim_apt_line "${missing[@]}"
        exit "$PSIM_EXIT_LACKS"
    fi
}

psim_apt_line() {
    printf 'apt-get update && apt-get install -y --no-install-recommends %s\n' "$*" >&2
}

# psim_configure PRESET FOLDER [NAME=VALUE...]: configures unless FOLDER is configured that way.
# The values are cache variables that the folder must have, beside what the preset says.
psim_configure() {
    local preset=$1 folder=$2 value wanted=()
    local cache=$folder/CMakeCache.txt
    shift 2
    if ! psim_cache_has "$cache" "CMAKE_HOME_DIRECTORY=$psim_root" ||
        ! psim_cache_has "$cache" "CMAKE_GENERATOR=Ninja"; then
        # Made by another generator, or for a copy of the project elsewhere: CMake would refuse it.
        rm -rf -- "$cache" "$folder/CMakeFiles" "$folder/build.ninja"
    fi
    for value in "$@"; do
        psim_cache_has "$cache" "$value" || rm -f -- "$folder/build.ninja"
        wanted+=("-D$value")
    done
    if [ ! -f "$folder/build.ninja" ]; then
        psim_say "configuring ${folder#"$psim_root"/}"
        psim_quietly cmake -S "$psim_root" --preset "$preset" -B "$folder" "${wanted[@]}"
    fi
}

# psim_cache_has CACHE NAME=VALUE
psim_cache_has() {
    [ -f "$1" ] && sed 's/^\([^:=]*\):[A-Z]*=/\1=/' "$1" | grep -qxF -- "$2"
}

# psim_build FOLDER [TARGET...]
psim_build() {
    local folder=$1
    shift
    psim_say "building ${folder#"$psim_root"/} (a minute or two where all is new)"
    psim_quietly ninja -C "$folder" "$@"
}
