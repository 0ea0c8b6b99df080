#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The manual pages agree with the code.
#
# Every public function is in exactly one page, with its header's prototype; every option of a
# tool's --help is in its page, every environment variable, key and allocator in shpool(7), and the
# other way round; references lead somewhere; mandoc has nothing to say.  In the build folder.
#
# Prints PASS or FAIL lines.  Exit: 0; 1; 77: mandoc is missing, all else is right.
set -u
unset SHPOOL_ALLOCATOR SHPOOL_CACHE_BYTES SHPOOL_CACHE_DIR SHPOOL_DEVICE_ALLOCATOR
unset SHPOOL_LOG_LEVEL SHPOOL_PLUGIN_PATH
LC_ALL=C
export LC_ALL
here=$(cd "$(dirname "$0")" && pwd)
src=${top_srcdir:-$here/../..}
tmp=$(mktemp -d "${TMPDIR:-/tmp}/shpool-man.XXXXXX") || exit 99
trap 'rm -rf "$tmp"' EXIT
man=$tmp/man
mkdir "$man" && cp "$src"/man/*.1 "$man" && cp man/*.[137] "$man" || exit 99
failed=0

# same TEXT LEAST: the sorted lists $tmp/code and $tmp/page agree and have LEAST lines or more
same() {
    count=$(wc -l <"$tmp/code")
    if [ "$count" -lt "$2" ]; then
        echo "FAIL $1: only $count were found"
    elif ! diff "$tmp/code" "$tmp/page" >"$tmp/diff"; then
        sed 's/^/FAIL /' "$tmp/diff"
        echo "FAIL $1: the code (<) and the pages (>) differ"
    else
        echo "PASS $1 ($count)"
        return
    fi
    failed=1
}

# the names in a page's NAME section
names() { sed -n '/^\.Sh NAME/,/^\.Nd/s/^\.Nm \([^ ]*\)\( ,\)*$/\1/p' "$1"; }

# ---- functions ----
headers=$(cd "$src" && ls include/shpool/*.h include/shpool/*.cuh include/shpool/device/*.h \
    include/shpool/loadstore/*.cuh)
# shellcheck disable=SC2086
(cd "$src" && awk -f tests/build/prototypes.awk $headers) >"$tmp/prototypes"
sed 's/^template <.*> \([a-z]\)/\1/; s/(.*//; s/.*[ *&]//' "$tmp/prototypes" | sort -u >"$tmp/code"
for page in "$man"/shpool*.3 "$man"/simt_run.3; do
    names "$page" | sed 's/^shpool:://'
done | sort >"$tmp/page"
same "each public function, in the NAME of one page" 200

# overloads in two headers are two
wc -l <"$tmp/prototypes" >"$tmp/code"
sed -n '/^\.Sh SYNOPSIS/,/^\.Sh DESCRIPTION/p' "$man"/shpool*.3 "$man"/simt_run.3 |
    grep -cE '^\.(Fn|Bd)' >"$tmp/page"
same "each prototype, in a SYNOPSIS" 1

grep -c '^simt_' "$man/simt.3" | awk '$1 < 25 { print "FAIL simt(3): few functions"; exit 1 }' ||
    failed=1

# ---- options ----
# One .It Fl line for each option; the commands are .Cm.  Texts of commands that have a --help of
# their own are in `usage`.
for tool in shpool-info shpool-bench shpool-coalesce; do
    page=$man/$tool.1
    ./$tool --help >"$tmp/help" </dev/null 2>&1
    for command in $(sed -n 's/^\.It Cm \([a-z]*\).*/\1/p' "$page" | sort -u); do
        [ "$command" != nvcc ] || continue # it would ask nvcc
        ./$tool "$command" --help >"$tmp/usage" </dev/null 2>&1 || continue
        [ "$(head -1 "$tmp/usage" | cut -d ' ' -f 1-3)" != "usage: $tool $command" ] ||
            cat "$tmp/usage" >>"$tmp/help"
    done
    # options of nvcc that a text mentions are none of the tool's
    sed '/nvcc -/d; s/NVCC-OPTION//g' "$tmp/help" | grep -oE '(^|[^A-Za-z0-9-])--?[A-Za-z][a-z-]*' |
        sed 's/^[^-]*//' | sort -u >"$tmp/code"
    sed -n 's/^\.It Fl/Fl/p' "$page" | grep -oE 'Fl [A-Za-z-]+' | sed 's/Fl /-/' |
        sort -u >"$tmp/page"
    same "the options of $tool" 5
    sed -n 's/^\.Fl -\([a-z][a-z-]*\).*/--\1/p' "$page" | sort -u |
        comm -23 - "$tmp/code" >"$tmp/no"
    [ ! -s "$tmp/no" ] || { sed "s/^/FAIL $tool has no option /" "$tmp/no" && failed=1; }
    ./$tool --help </dev/null 2>&1 | tr -d '[]' |
        sed -n "s/^\(usage:\)* *$tool \([a-z][a-z]*\).*/\2/p;
        s/^  \([a-z][a-z]*\)\( [A-Z]*\)\{0,1\}  *[a-z0-9].*/\1/p" | sort -u >"$tmp/code"
    sed -n 's/^\.It Cm \([a-z]*\).*/\1/p' "$page" | sort -u >"$tmp/page"
    same "the commands of $tool" 4
done
sed -n 's/^ *{ "\([a-z-]*\)", &options->.*/\1/p' "$src/coalesce/llvm/pass.c" | sort >"$tmp/code"
sed -n '/Ev SHPOOL_COALESCE$/,/^\.El/s/^\.It //p' "$man/shpool-coalesce-clang.1" |
    grep -o 'Cm [a-z-]*' | sed 's/Cm //' | grep -vx block | sort >"$tmp/page"
same "the words of SHPOOL_COALESCE" 5

# ---- shpool(7) ----
page7=$man/shpool.7
made=$page7
part() { sed -n "/^\.S[sh] $1/,/^\.S[sh] [^$1]/p" $page7; }

(cd "$src/include" && ls shpool/*.hpp) >"$tmp/code"
sed -n '/^\.Sh SYNOPSIS/,/^\.Sh DESCRIPTION/s/^\.In \(.*\.hpp\)$/\1/p' $page7 |
    sort >"$tmp/page"
same "the C++ headers" 3

# its tables are made of what shpool-info prints (man/tables.awk): all of it is there
{ ./shpool-info config | sed -n 's/^\(SHPOOL_[A-Z_]*\) (.*/\1/p; s/^    \([a-z_]*\)=.*/\1/p'
  ./shpool-info device | sed -n 's/^\([a-z][a-z]*\) .*/\1/p; s/^    \([a-z_]*\)=.*/\1/p'
  ./shpool-info list | sed -n 's/^[* ] \([a-z][a-z0-9_]*\) .*/\1/p'; } | sort -u >"$tmp/code"
for name in Keys Device BLOCK ENVIRONMENT; do part $name; done |
    sed -n 's/^\.It [CE][mv] \([^ ]*\).*/\1/p' | sort -u >"$tmp/page"
same "variables, keys and allocators" 40

sed -n 's/^ *{ "\(USE_[A-Z_]*\)",.*/\1/p' "$src/lib/alias.c" | sort >"$tmp/code"
sed -n 's/^\.Cm \(USE_[A-Z_]*\).*/\1/p' $page7 | sort >"$tmp/page"
same "the aliases" 5

# ---- references, and the pages' own form ----
for page in "$man"/*.[13] $made; do
    section=${page##*.}
    base=${page##*/}
    { names "$page"; echo "${base%.*}"; } | sed "s/$/ $section/"
done | sort -u >"$tmp/names"
sed -n 's/^\.Xr \([^ ]*\) \([0-9]\).*/\1 \2/p' "$man"/*.[13] $made |
    grep -vx 'free 3\|printf 3' | sort -u | comm -23 - "$tmp/names" >"$tmp/nowhere"
if [ -s "$tmp/nowhere" ]; then
    sed 's/^/FAIL no page has the name /' "$tmp/nowhere"
    failed=1
else
    echo "PASS references"
fi

ls "$man"/*.[13] $made | sed 's,.*/,man/,' | sort >"$tmp/code"
sed -n '/man[137]_MANS/,/[^\\]$/p' "$src/man/man.mk" | grep -o 'man/[a-z_-]*\.[137]' |
    sort -u >"$tmp/page"
same "all pages are installed" 20

if ! command -v mandoc >/dev/null; then
    echo "mandoc is not installed: the pages were not linted"
    [ $failed = 1 ] || failed=77
    exit $failed
fi
# whether a page that is referred to is installed here says nothing about the page
for page in "$man"/*.[13] $made; do mandoc -T lint "$page" 2>&1; done |
    grep -v 'referenced manual not found\|outdated mandoc.db' >"$tmp/lint"
if [ -s "$tmp/lint" ]; then
    sed 's/^/FAIL /' "$tmp/lint"
    failed=1
else
    echo "PASS mandoc"
fi
exit $failed
