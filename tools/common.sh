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

# install_cudnn_frontend: where nvcc is, the headers by which cuDNN is told of attention, into build/cudnn-frontend. The
# library does without them as well.
install_cudnn_frontend() {
  local version=1.32.0 folder=$root/build/cudnn-frontend pip
  command -v nvcc "${CUDACXX:-}" "${CUDA_PATH:-/usr/local/cuda}/bin/nvcc" >/dev/null || return 0
  [[ ! -f $folder/version || $(<"$folder/version") != "$version" ]] || return 0
  say "Downloading the headers of cudnn-frontend $version into build/cudnn-frontend."
  rm -rf "$folder" && mkdir -p "$folder"
  pip=$root/build/venv/bin/pip
  if [[ ! -x $pip ]]; then
    python3 -m venv "$folder/venv" || return 0
    pip=$folder/venv/bin/pip
  fi
  # Headers only: any wheel of this version serves.
  if "$pip" download --quiet --disable-pip-version-check --no-deps --only-binary=:all: --dest "$folder" \
    "nvidia-cudnn-frontend==$version"; then
    python3 - "$folder" <<'END'
import pathlib, sys, zipfile
folder = pathlib.Path(sys.argv[1])
for wheel in folder.glob("*.whl"):
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder, [name for name in archive.namelist() if name.startswith("include/")])
    wheel.unlink()
END
    printf '%s\n' "$version" >"$folder/version"
  else
    say "It cannot be had now: attention is left to own kernels until tools/setup is run again."
  fi
  rm -rf "$folder/venv"
}

# install_packages [OPTION]...: tools/setup, unless a sysroot stands in for it.
install_packages() {
  if [[ -f $root/sysroot/toolchain.cmake ]]; then
    say "sysroot/ is there: its libraries are used and nothing is installed."
  else
    "$root/tools/setup" "$@"
  fi
}
