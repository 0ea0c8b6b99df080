#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# What documents name exists: in doc/INTERNALS.md each file, and each function in the file that was
# named before it; the figures of doc/CHOOSING.md in the section of doc/performance.md that the row
# names; files that README.md and doc/*.md refer to.
#
#   top_srcdir   source folder [the one above this script's]
#
# Prints a FAIL line for each that does not.  Exit: 0; 1.
set -u
here=$(cd "$(dirname "$0")" && pwd)
cd "${top_srcdir:-$here/..}" || exit 1
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

# ---- doc/CHOOSING.md: "| ... figures ... | Section |" ----
# Numbers of two digits and more, and those with a point, are figures.  Commas part thousands.
count=0
grep '^|.*|$' doc/CHOOSING.md | awk -F ' *[|] *' 'NF >= 5 { print $(NF - 1) "\t" $0 }' >"$tmp/rows"
while IFS='	' read -r section row; do
    case $section in
    where | ---*) continue ;;
    esac
    awk -v section="## $section" '/^##/ { on = ($0 == section) } on' doc/performance.md |
        tr -d ',' >"$tmp/section"
    if [ ! -s "$tmp/section" ]; then
        fail "doc/CHOOSING.md: doc/performance.md has no section \"$section\""
        continue
    fi
    for figure in $(echo "${row%| "$section"*}" | sed 's/`[^`]*`//g' | tr -d ',' |
        grep -oE '[0-9]+\.[0-9]+|[0-9]{2,}'); do
        count=$((count + 1))
        grep -qE "(^|[^0-9.])$figure([^0-9.]|\.?\$|\.[^0-9])" "$tmp/section" ||
            fail "doc/CHOOSING.md: $figure is not in \"$section\""
    done
done <"$tmp/rows"
[ "$count" -ge 30 ] || fail "doc/CHOOSING.md: only $count figures were found"

# ---- files ----
count=0
for page in README.md doc/*.md; do
    for name in $(sed 's/`[^`]*`//g' "$page" |
        grep -oE '(doc|examples|tests|tools|include/shpool|lib|allocators)/[A-Za-z_0-9/-]+\.[a-z]+' |
        grep -v NAME | sort -u); do
        count=$((count + 1))
        [ -e "$name" ] || fail "$page: there is no $name"
    done
done
[ "$count" -ge 40 ] || fail "only $count references to files were found"

[ $failed = 1 ] || echo "PASS documents name what exists"
exit $failed
