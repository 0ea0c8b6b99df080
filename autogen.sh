#!/bin/sh
# Needed in a git checkout only, never in a release tarball.
# Further arguments go to autoreconf: ./autogen.sh --warnings=error is what CI runs.
set -e
cd "$(dirname "$0")"

# Without one of them autoreconf stops with an error about a macro or a program; the user needs the
# names of the packages.
missing=
for need in autoconf:autoconf automake:automake libtoolize:libtool pkg-config:pkg-config; do
    command -v "${need%:*}" >/dev/null 2>&1 || missing="$missing ${need#*:}"
done
if [ -n "$missing" ]; then
    echo "autogen.sh: not installed:$missing.  On Debian and Ubuntu, as root:" >&2
    echo "    apt-get install$missing" >&2
    exit 1
fi

build-aux/modules.sh
exec autoreconf --install --force --warnings=all "$@"
