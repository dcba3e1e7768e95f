# Sourced by the scripts of this folder: messages, timed stages, and the settings of the build.
# shellcheck shell=bash

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck disable=SC2034  # used by the scripts that source this
jobs=${COHORT_JOBS:-$(nproc)}
stage_times=()

say() { printf '%s\n' "$@"; }
die() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; exit 1; }

# stage NAME COMMAND...: says what runs, runs it, says how long it took; ends the script where the command fails.
# Inside a function that is run so, `set -e` has no effect: chain its commands with &&.
stage() {
  local name=$1 start=$SECONDS status=0
  shift
  say "" "== $name"
  "$@" || status=$?
  stage_times+=("$(printf '%6d s  %s' $((SECONDS - start)) "$name")")
  if ((status != 0)); then
    print_stage_times
    die "'$name' failed (exit status $status)"
  fi
}

print_stage_times() {
  say "" "Time taken:"
  printf '%s\n' "${stage_times[@]}"
}

# configure PRESET [ARGUMENT...]: configures one of CMakePresets.json. A folder sysroot/ in the root holds the libraries
# for a machine where packages cannot be installed.
configure() {
  local preset=$1
  shift
  local arguments=(--preset "$preset" "$@")
  if [[ -f $root/sysroot/toolchain.cmake ]]; then
    arguments+=("-DCMAKE_TOOLCHAIN_FILE=$root/sysroot/toolchain.cmake")
  fi
  (cd "$root" && cmake "${arguments[@]}")
}

# install_packages: tools/setup, unless a sysroot stands in for it.
install_packages() {
  if [[ -f $root/sysroot/toolchain.cmake ]]; then
    say "sysroot/ is there: its libraries are used and nothing is installed."
  else
    "$root/tools/setup"
  fi
}
