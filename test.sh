#!/bin/sh
# Installs what is missing (Debian packages), builds, and runs the tests.
#
#   ./test.sh                     the release preset, all tests
#   ./test.sh dev                 another preset of CMakePresets.json: dev (ASan + UBSan), tsan, clang, tidy (builds only)
#   ./test.sh dev -L fast         more arguments go to ctest: a label (fast, slow), -R REGEX, ...
#
# Exit code: that of ctest; 3 where the installation or the build failed.
set -eu

cd "$(dirname "$0")"
. cmake/debian_packages.sh

preset=release
case ${1:-} in
  '' | -*) ;;
  *) preset=$1; shift ;;
esac

packages="$BUILD_PACKAGES $TEST_PACKAGES"
tests=ON
case $preset in
  release | dev | tsan) ;;
  clang) packages="$packages clang-14" ;;
  tidy) packages="$packages clang-14 clang-tidy-14"; tests=OFF ;;
  *) echo "error: no preset '$preset'; there are release, dev, tsan, clang, tidy" >&2; exit 2 ;;
esac

# shellcheck disable=SC2086
install_packages build/packages.log $packages
configure "$preset" "$tests"
compile "$preset" all
if [ "$tests" = OFF ]; then
  stage "clang-tidy has nothing to say"
  exit 0
fi
stage "testing build/$preset"
exec ctest --test-dir "build/$preset" --output-on-failure --no-tests=error -j "$(nproc)" "$@"
