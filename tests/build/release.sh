#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# packaging/release.sh in a small tree, with stubs for the build and its tools: what it collects,
# and that it says what is missing.  Exit: 0; 1; 77 without git.
#
#   top_srcdir   [the folder above this script's]
# shellcheck disable=SC2154,SC2317 # work and failed are from checks.sh; functions for check()
set -u
here=$(cd "$(dirname "$0")" && pwd)
top_srcdir=$(cd "${top_srcdir:-$here/../..}" && pwd)
# shellcheck source=tests/build/checks.sh
. "$top_srcdir/tests/build/checks.sh"
command -v git >/dev/null 2>&1 || { echo "SKIP no git"; exit 77; }

# ---- a tree with the files that the script reads; its build makes empty promises ----
tree=$work/tree
mkdir -p "$tree/packaging" "$tree/debian" "$work/bin"
cp "$top_srcdir/packaging/release.sh" "$top_srcdir/packaging/complete.sh" "$tree/packaging"
cd "$tree" || exit 1
echo 'AC_INIT([libshpool], [1.2.3], [], [libshpool])' >configure.ac
printf 'libshpool NEWS\n\nVersion 1.2.3 (2027-01-31)\n' >NEWS
echo 'libshpool (1.2.3) unstable; urgency=medium' >debian/changelog
echo 'Maintainer: someone <someone@example.org>' >debian/control
cat >configure <<'EOD'
#!/bin/sh
echo "$*" >configured
cat >Makefile <<'EOM'
distcheck:
	echo '$(DISTCHECK_CONFIGURE_FLAGS)' | grep -qx -e '--with-some=thing'
	mkdir libshpool-1.2.3 && cd .. && \
	  cp -R [!b]* b/libshpool-1.2.3
	tar czf libshpool-1.2.3.tar.gz libshpool-1.2.3
EOM
EOD
echo '#!/bin/sh' >autogen.sh
cat >packaging/check.sh <<'EOD'
for name in libshpool0 libshpool-dev python3-shpool shpool-tools; do
    echo "$name" >"$1/${name}_1.2.3_amd64.deb"
done
echo wheel >"$1/shpool-1.2.3-py3-none-linux_x86_64.whl"
EOD
chmod +x autogen.sh configure
for tool in autoreconf automake libtoolize dpkg-buildpackage dh lintian; do
    printf '#!/bin/sh\n' >"$work/bin/$tool"
done
printf '#!/bin/sh\n' >"$work/bin/python3"
chmod +x "$work"/bin/*
PATH=$work/bin:$PATH
GIT_COMMITTER_NAME=n GIT_COMMITTER_EMAIL=e@example.org
export GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL
export PATH GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
commit() {
    git add -A && git -c user.name=n -c user.email=e@example.org commit -q -m "$1" &&
        git tag -f v1.2.3 >/dev/null 2>&1
}
git init -q && commit first || exit 99
good=$(git rev-parse HEAD)

release() { # [--trial]: into a new folder
    rm -rf "$work/to"
    sh packaging/release.sh "$@" "$work/to" --with-some=thing >"$work/said" 2>&1
}
# refused WHAT TEXT [--trial]: it fails, says so, and leaves nothing; then the tree is whole again
refused() {
    what=$1
    words=$2
    shift 2
    check "$what: fails" not release "$@"
    check "$what: says so" grep -qF -e "$words" "$work/said"
    check "$what: leaves nothing" test -z "$(ls -A "$work/to" 2>/dev/null)"
    git reset -q --hard "$good" && git clean -qfd && git tag -f v1.2.3 >/dev/null 2>&1
}

# ---- a release ----
check "a release" release
cat >"$work/files" <<EOD
SHA256SUMS
libshpool-1.2.3.tar.gz
libshpool-dev_1.2.3_amd64.deb
libshpool0_1.2.3_amd64.deb
python3-shpool_1.2.3_amd64.deb
shpool-1.2.3-py3-none-linux_x86_64.whl
shpool-tools_1.2.3_amd64.deb
EOD
(cd "$work/to" && find . -type f | sed 's|^\./||' | LC_ALL=C sort) >"$work/made"
check "its files" diff "$work/files" "$work/made"
check "its checksums" sh -c "cd '$work/to' && sha256sum -c SHA256SUMS && wc -l <SHA256SUMS |
    grep -qx 6"
check "a second one into the same folder" \
    not sh packaging/release.sh "$work/to"

# ---- what is not in order before it begins ----
touch other
refused "a file that is not committed" "git status is not clean" --trial
echo 'libshpool (1.2.2) unstable; urgency=medium' >debian/changelog && commit changelog
refused "another version in debian/changelog" "debian/changelog begins with 1.2.2" --trial
printf 'Version 1.2.4\n' >NEWS && commit news
refused "another version in NEWS" "NEWS begins with 1.2.4" --trial
printf 'Version 1.2.3 (not released)\n' >NEWS && commit news
check "a trial needs no date" release --trial
refused "no date" "give the date of the release"
git commit -q --allow-empty -m other --author 'n <e@example.org>'
refused "another commit's tag" "the tag v1.2.3 exists and is not the commit"
git tag -d v1.2.3 >/dev/null
check "a trial makes no tag" sh -c "sh packaging/release.sh --trial '$work/trial' \
    --with-some=thing && test -z \"\$(git tag)\""
check "a release" release
check "makes the tag" test "$(git rev-parse 'v1.2.3^{commit}')" = "$(git rev-parse HEAD)"
echo 'Maintainer: someone <someone@example.invalid>' >debian/control && commit control
refused "no address" "has no address of a maintainer"
mkdir "$work/few"
for tool in sh sed git ls mkdir dirname head make grep dh python3; do
    ln -s "$(command -v $tool)" "$work/few/$tool"
done
check "no tools: fails" not env PATH="$work/few" sh packaging/release.sh "$work/none"
env PATH="$work/few" sh packaging/release.sh "$work/none" >"$work/said" 2>&1
check "no tools: all are named" grep -qF \
    "apt-get install autoconf automake libtool dpkg-dev lintian coreutils" "$work/said"

# ---- what the build fails to make ----
sed -i 's/cp -R .*/& \&\& rm b\/libshpool-1.2.3\/NEWS/' configure && commit incomplete
refused "a file that is not in the tarball" "FAIL the tarball lacks NEWS"
sed -i '/whl/d' packaging/check.sh && commit wheel
refused "no wheel" "the release has no shpool-1.2.3-py3-none-*.whl"
sed -i 's/ shpool-tools//' packaging/check.sh && commit tools
refused "no package" "the release has no shpool-tools_1.2.3_*.deb"
echo 'exit 77' >>packaging/check.sh && commit skips
refused "packages that were skipped" "FAIL sh packaging/check.sh"
echo 'exit 1' >>autogen.sh && commit autogen
refused "a build that fails" "FAIL ./autogen.sh"
exit $failed
