#!/bin/sh
# Needed in a git checkout only, never in a release tarball.
# Further arguments go to autoreconf: ./autogen.sh --warnings=error is what CI runs.
set -e
cd "$(dirname "$0")"
build-aux/modules.sh
exec autoreconf --install --force --warnings=all "$@"
