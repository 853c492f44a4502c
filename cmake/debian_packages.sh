# shellcheck shell=sh disable=SC2034
# Sourced by run.sh and test.sh: stages, logs, and the installation of missing Debian packages. POSIX sh; everything
# that is said goes to stderr, so that the standard output belongs to the program. docs/dependencies.md says why each
# package is needed.

BUILD_PACKAGES="g++ cmake ninja-build ccache libfmt-dev nlohmann-json3-dev libboost-graph-dev libcli11-dev libeigen3-dev libopenmpi-dev openmpi-bin"
TEST_PACKAGES="libgtest-dev libgmock-dev libbenchmark-dev libopenblas-dev"

stage() { echo "== $*" >&2; }

fail() {
  echo "error: $*" >&2
  exit 3
}

# logged LOG COMMAND...: runs it quietly; where it fails, shows what it said and ends.
logged() {
  log=$1
  shift
  mkdir -p "$(dirname "$log")"
  if ! "$@" >"$log" 2>&1; then
    cat "$log" >&2
    fail "failed: $*"
  fi
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  else
    sudo "$@"
  fi
}

missing_packages() {
  for package in "$@"; do
    case $(dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null) in
      ii*) ;;
      *) printf ' %s' "$package" ;;
    esac
  done
}

# install_packages LOG PACKAGE...: does nothing, quickly, where all are there.
install_packages() {
  install_log=$1
  shift
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    stage "no Debian packages here: building with what is installed (docs/dependencies.md lists what is needed)"
    return
  fi
  missing=$(missing_packages "$@")
  [ -n "$missing" ] || return 0
  if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null; then
    fail "these Debian packages are missing, and there is neither root nor sudo to install them:$missing"
  fi
  stage "installing Debian packages:$missing"
  as_root apt-get -q update >&2 2>&1 || stage "apt-get update failed; trying with the package lists that are here"
  # The list is split into words on purpose.
  # shellcheck disable=SC2086
  logged "$install_log" as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get -q -y install --no-install-recommends $missing
}

# configure PRESET TESTS: makes or renews build/PRESET where it is missing, of another directory, older than the presets, or
# without tests that are wanted now (TESTS is ON or OFF; a build with tests also serves one that wants none).
configure() {
  build=build/$1
  cache=$build/CMakeCache.txt
  fresh=
  if [ -f "$cache" ] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$PWD" "$cache"; then
    fresh=--fresh
  elif [ -f "$build/build.ninja" ] && [ "$build/build.ninja" -nt CMakePresets.json ]; then
    [ "$2" = ON ] || return 0
    if grep -qx "ORRERY_TESTS:BOOL=ON" "$cache" && grep -qx "ORRERY_BENCHMARKS:BOOL=ON" "$cache"; then
      return 0
    fi
  fi
  stage "configuring $build"
  # An empty $fresh is no argument.
  # shellcheck disable=SC2086
  logged "$build/configure.log" cmake --preset "$1" $fresh -DORRERY_TESTS="$2" -DORRERY_BENCHMARKS="$2"
}

# compile PRESET TARGET...: shows progress on a terminal; elsewhere only what fails.
compile() {
  built=build/$1
  shift
  stage "building $built ($*)"
  quiet=
  [ -t 2 ] || quiet=--quiet
  # shellcheck disable=SC2086
  ninja -C "$built" -j "$(nproc)" $quiet "$@" >&2 || fail "the build of $built failed; the compiler's messages are above"
}
