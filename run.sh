#!/bin/sh
# Installs what is missing (Debian packages), builds the release preset, and runs orrery.
#
#   ./run.sh                      compares the four configurations of a 70B GPT in scenarios/gpt-70b
#   ./run.sh run FILE...          passes any arguments on to build/release/bin/orrery
#
# Quick when there is nothing to do. Results go to stdout, talk to stderr. Exit code: that of orrery; 3 where the
# installation or the build failed.
set -eu

root=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=cmake/debian_packages.sh
. "$root/cmake/debian_packages.sh"

# The caller's directory stays, because the arguments may name files relative to it.
(
  cd "$root"
  # shellcheck disable=SC2086
  install_packages build/packages.log $BUILD_PACKAGES
  configure release OFF
  compile release orrery orrery-rt
)

orrery=$root/build/release/bin/orrery
if [ $# -eq 0 ]; then
  cd "$root"
  set -- compare scenarios/gpt-70b/*.json
fi
stage "orrery $*"
exec "$orrery" "$@"
