#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Names in documents exist: in doc/INTERNALS.md each file, and each function in the file that was
# named before it; measured figures in doc/results (packaging/figures.py); messages of the library
# in doc/TROUBLESHOOTING.md; SHPOOL_ABI in doc/PLUGINS.md; in README.md, doc/*.md and the manual
# files, headings that links lead to, and identifiers.  In a build folder also: the manual's example
# commands run, and doc/PLANNING.md and doc/TRACE.md show the tools' output.
#
#   top_srcdir   source folder [the one above this script's]
#
# Prints a FAIL line for each that does not exist.  Exit: 0; 1.
set -u
LC_ALL=C
export LC_ALL
here=$(cd "$(dirname "$0")" && pwd)
build=$PWD
cd "${top_srcdir:-$here/../..}" || exit 1
tmp=$(mktemp -d "${TMPDIR:-/tmp}/shpool-docs.XXXXXX") || exit 99
trap 'rm -rf "$tmp"' EXIT
failed=0
fail() {
    echo "FAIL $*"
    failed=1
}

# ---- doc/INTERNALS.md: `path` and `function()` in their order ----
grep -o '`[a-z][A-Za-z_0-9./]*\(()\)\{0,1\}`' doc/INTERNALS.md | tr -d '`' >"$tmp/names"
file=
count=0
while read -r name; do
    case $name in
    *'()')
        count=$((count + 1))
        grep -q "\<${name%()}(" "${file:-/dev/null}" ||
            fail "doc/INTERNALS.md: $name is not in ${file:-a file}"
        ;;
    */*)
        file=$name
        [ -e "$(echo "$name" | sed 's,/NAME$,,')" ] || fail "doc/INTERNALS.md: there is no $name"
        ;;
    esac
done <"$tmp/names"
[ "$count" -ge 60 ] || fail "doc/INTERNALS.md: only $count functions were found"

# ---- figures ----
if command -v python3 >/dev/null; then
    python3 -B packaging/figures.py check || failed=1
fi

# ---- a line after a table belongs to it: an empty one ends it ----
for page in README.md doc/*.md; do
    awk '/^```/ { code = !code }
        !code && was ~ /^\|/ && NF && !/^\|/ { print FILENAME ":" FNR; bad = 1 }
        { was = $0 } END { exit bad }' "$page" >"$tmp/tables" ||
        fail "no line is empty after the table: $(cat "$tmp/tables")"
done

# ---- doc/TROUBLESHOOTING.md: the library's messages, up to the part that varies ----
# (what compilers say: tests/build/messages.sh)
count=0
sed -n '/^## Opening/,/^## Running/s/^| `\([^`]*\)`.*/\1/p' doc/TROUBLESHOOTING.md |
    sed 's/"[^"]*".*//' >"$tmp/messages"
while IFS= read -r message; do
    count=$((count + 1))
    grep -qrF -- "$message" lib include/shpool ||
        fail "doc/TROUBLESHOOTING.md: nobody says \"$message\""
done <"$tmp/messages"
[ "$count" -ge 5 ] || fail "doc/TROUBLESHOOTING.md: only $count messages were found"

# ---- doc/PLUGINS.md: a refused plugin meets the library of today ----
abi=$(sed -n 's/^#define SHPOOL_ABI \([0-9]*\)u$/\1/p' include/shpool/abi.h)
grep -q "ABI $((abi - 1)) and .*this library has ABI $abi " doc/PLUGINS.md ||
    fail "doc/PLUGINS.md: its example of a refused plugin is not for ABI $abi"

# ---- files ----
count=0
folders='doc|examples|python|tests|tools|include/shpool|lib|allocators'
for page in README.md doc/*.md; do
    for name in $(sed 's/`[^`]*`//g' "$page" | grep -oE "($folders)/[A-Za-z_0-9/-]+\.[a-z]+" |
        grep -v NAME | sort -u); do
        count=$((count + 1))
        [ -e "$name" ] || fail "$page: there is no $name"
    done
done
[ "$count" -ge 40 ] || fail "only $count references to files were found"

# ---- links to headings of pages ----
# A heading's anchor: small letters, blanks as hyphens, no other signs.
anchors_of() { # PAGE
    sed -n 's/^##* //p' "$1" | tr 'A-Z ' 'a-z-' | sed 's/[^a-z0-9_-]//g'
}
count=0
for page in README.md doc/*.md allocators/*/README.md; do
    for link in $(grep -o '](\([A-Za-z0-9_/.-]*\)#[^)]*)' "$page" | sed 's/^](//; s/)$//'); do
        count=$((count + 1))
        to=${link%%#*}
        [ -n "$to" ] && to=$(dirname "$page")/$to || to=$page
        if [ ! -e "$to" ]; then
            fail "$page: there is no $to"
        elif ! anchors_of "$to" | grep -qxF -- "${link#*#}"; then
            fail "$page: $to has no heading ${link#*#}"
        fi
    done
done
[ "$count" -ge 1 ] || fail "only $count links to headings were found"

# ---- identifiers: each name with one of our prefixes exists ----
# mine, own, a, b and NAME are placeholders; macros make shpool_ALLOCATOR_free and the like.
words='\<(shpool|simt|SHPOOL|SIMT)_[A-Za-z0-9_]*[A-Za-z0-9]\>'
{
    find include lib device check coalesce simt tools allocators examples m4 python configure.ac \
        tests/tests.mk -type f ! -name README.md -exec grep -ohE "$words" {} +
    ls examples man | sed 's/\..*//'
} | sort -u >"$tmp/known"
sed '/^\.Dt/d' README.md doc/*.md man/*.1 man/*.in | grep -oE "$words" | sort -u |
    grep -vE '_(mine|own|NAME)(_|$)|_allocator_[ab]$|^shpool_[a-z_]*_(malloc|free)$|_atomic$' |
    comm -23 - "$tmp/known" >"$tmp/unknown"
[ ! -s "$tmp/unknown" ] || fail "documents speak of $(tr '\n' ' ' <"$tmp/unknown")"
[ "$(sed 1d "$tmp/known" | wc -l)" -ge 1000 ] || fail "few identifiers were found"

# ---- commands ----
if [ -x "$build/shpool-info" ] && [ -x "$build/shpool-bench" ]; then
    PATH=$build:$PATH
    export PATH
    sed -n 's/^\.Dl \(.*shpool-info .*\|shpool-bench --device cpu .*\)/\1/p' man/*.1 man/*.1.in \
        >"$tmp/commands"
    while IFS= read -r command; do
        sh -c "$command" >"$tmp/out" 2>&1 </dev/null || fail "$command: $(head -1 "$tmp/out")"
    done <"$tmp/commands"
    [ "$(wc -l <"$tmp/commands")" -ge 4 ] || fail "few examples of commands were found"

    # of a build with all allocators; the pages leave lines out
    if shpool-info list | grep -q thread_bitmap && shpool-info list | grep -q warp_best_fit; then
        sed -n '/^    \$ shpool-info overhead.*sm_86$/,/^$/s/^    //p' doc/PLANNING.md |
            grep -v '^\.\.\.' >"$tmp/shown"
        sh -c "$(sed -n '1s/^\$ //p' "$tmp/shown")" >"$tmp/out"
        sed 1d "$tmp/shown" | grep -vxFf "$tmp/out" >"$tmp/lines" &&
            fail "doc/PLANNING.md: shpool-info does not print $(cat "$tmp/lines")"
        [ "$(wc -l <"$tmp/shown")" -ge 4 ] || fail "doc/PLANNING.md: no shpool-info overhead"

        sed -n '/^    shpool-bench --device cpu .*:trace=/,/^$/s/^    //p' doc/TRACE.md \
            >"$tmp/commands"
        sed -n '/^    rank allocator /,/^$/s/^    //p' doc/TRACE.md |
            grep -v '\.\.\.$' >"$tmp/shown"
        (cd "$tmp" && sh commands) >"$tmp/out" 2>&1
        grep -vxFf "$tmp/out" "$tmp/shown" >"$tmp/lines" &&
            fail "doc/TRACE.md: shpool-bench replay does not print $(cat "$tmp/lines")"
        [ "$(wc -l <"$tmp/shown")" -ge 4 ] || fail "doc/TRACE.md: no shpool-bench replay was found"
    fi
fi

[ $failed = 1 ] || echo "PASS documents name what exists"
exit $failed
