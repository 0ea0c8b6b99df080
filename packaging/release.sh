#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# All files of a release in one folder, of the commit that is checked out (doc/RELEASING.md):
#
#     packaging/release.sh [--trial] FOLDER [CONFIGURE-OPTION...]
#
# The tarball comes from make distcheck with these options, which runs all tests; Debian's packages
# and the wheel come from the tarball by packaging/check.sh, which tries them; SHA256SUMS has the
# checksums; then the commit gets its tag.  --trial does without the tag, the date in NEWS and the
# addresses, not without a test.
# FOLDER must not exist, or be empty.  Exit: 0; 1: something is missing or failed, and the last
# line says what.
set -eu
fail() {
    echo "FAIL $*" >&2
    exit 1
}
usage="usage: packaging/release.sh [--trial] FOLDER [CONFIGURE-OPTION...]"
trial=
if [ "${1-}" = --trial ]; then
    trial=1
    shift
fi
case ${1-} in
'' | -*) fail "$usage" ;;
esac
mkdir -p "$1"
to=$(cd "$1" && pwd)
shift
[ -z "$(ls -A "$to")" ] || fail "$to is not empty: give a new folder"
src=$(cd "$(dirname "$0")/.." && pwd)
cd "$src"

# ---- before anything is built: tools, commit, version ----
missing=
for tool in git:git autoreconf:autoconf automake:automake libtoolize:libtool make:make \
    dpkg-buildpackage:dpkg-dev dh:debhelper lintian:lintian \
    python3:python3-venv sha256sum:coreutils; do
    command -v "${tool%:*}" >/dev/null 2>&1 || missing="$missing ${tool#*:}"
done
[ -z "$missing" ] || fail "tools are missing; Debian: apt-get install$missing"
python3 -c 'import ensurepip' 2>/dev/null ||
    fail "python3 has no ensurepip; Debian: apt-get install python3-venv"

git rev-parse --verify -q HEAD >/dev/null || fail "$src is not a git checkout"
[ -z "$(git status --porcelain)" ] || fail "git status is not clean: a release is a commit"
version=$(sed -n 's/^AC_INIT(\[libshpool\], *\[\([0-9.]*\)\].*/\1/p' configure.ac)
[ -n "$version" ] || fail "configure.ac has no version"
news=$(sed -n 's/^Version //p' NEWS | head -n 1)
[ "${news%% *}" = "$version" ] ||
    fail "configure.ac has version $version, NEWS begins with ${news:-none}"
debian=$(sed -n '1s/^libshpool (\([^)]*\)).*/\1/p' debian/changelog)
[ "$debian" = "$version" ] ||
    fail "configure.ac has version $version, debian/changelog begins with ${debian:-none}"
if [ -z "$trial" ]; then
    case $news in
    *\([0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]\)) ;;
    *) fail "NEWS has \"Version $news\": give the date of the release, as in ($(date +%Y-%m-%d))" ;;
    esac
    tagged=$(git rev-parse -q --verify "v$version^{commit}" || :)
    [ -z "$tagged" ] || [ "$tagged" = "$(git rev-parse HEAD)" ] ||
        fail "the tag v$version exists and is not the commit that is checked out"
    ! grep -qF '.invalid>' debian/control ||
        fail "debian/control has no address of a maintainer, only one that ends in .invalid"
fi

# ---- the tarball, tested ----
work=$(mktemp -d "${TMPDIR:-/tmp}/shpool-release.XXXXXX")
trap 'chmod -R u+w "$work" && rm -rf "$work"' EXIT
mkdir "$work/tree" "$work/tree/b" "$work/files"
git archive HEAD | tar xf - -C "$work/tree"
run() { # LOG COMMAND...: quietly, unless it fails
    log=$work/$1.log
    shift
    echo "     $*"
    "$@" >"$log" 2>&1 || {
        tail -n 60 "$log" >&2
        fail "$*"
    }
}
tarball=libshpool-$version.tar.gz
cd "$work/tree"
run autogen ./autogen.sh
cd b
run configure ../configure "$@"
run distcheck make distcheck DISTCHECK_CONFIGURE_FLAGS="$*"
[ -s "$tarball" ] || fail "make distcheck left no $tarball"
cp "$tarball" "$work/files"
echo "PASS $tarball: make distcheck"

# ---- the packages and the wheel, of the tarball alone ----
mkdir "$work/unpacked"
tar xzf "$work/files/$tarball" -C "$work/unpacked"
run complete sh "$src/packaging/complete.sh" "$src" "$work/unpacked/libshpool-$version"
cd "$work/unpacked/libshpool-$version"
run check sh packaging/check.sh "$work/files"
grep '^PASS' "$log" || :

# ---- one folder, complete ----
has() { # PATTERN: exactly one file, not empty
    # shellcheck disable=SC2086 # a pattern
    set -- "$1" "$work"/files/$1
    if [ $# != 2 ] || [ ! -s "$2" ]; then
        fail "the release has no $1, or several"
    fi
}
for package in libshpool0 libshpool-dev python3-shpool shpool-tools; do
    has "${package}_${version}_*.deb"
done
has "shpool-$version-py3-none-*.whl"
has "$tarball"
cd "$work/files"
sha256sum ./* | sed 's| \./| |' >"$work/SHA256SUMS"
cp ./* "$work/SHA256SUMS" "$to"
cd "$to"
sha256sum -c --quiet SHA256SUMS || fail "the copies in $to are not what was built"
cat SHA256SUMS
# signed, if git knows a key
if [ -z "$trial" ] && [ -z "$tagged" ]; then
    sign=-a
    [ -z "$(git -C "$src" config user.signingkey)" ] || sign=-s
    git -C "$src" tag $sign "v$version" -m "libshpool $version" || fail "git tag $sign v$version"
    echo "PASS tagged v$version; next: git push origin v$version"
fi
echo "PASS libshpool $version: $to"
