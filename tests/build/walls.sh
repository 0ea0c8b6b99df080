#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The walls of the house: a folder includes only headers that its row of the table in
# doc/INTERNALS.md allows, and no two files of the library or of its tools call each other in a
# circle.
#
#   top_srcdir   source folder [the one above this script's]
#   NM           [nm]
#
# Includes are read from the sources, calls from the objects in the build folder, which is the
# current one.  The script also plants an include and a call, and expects to see both.
# Prints a FAIL line for each breach, and one PASS line for each rule.  Exit: 0; 1.
set -u
LC_ALL=C
export LC_ALL
here=$(cd "$(dirname "$0")" && pwd)
src=$(cd "${top_srcdir:-$here/../..}" && pwd)
: "${NM:=nm}"
tmp=$(mktemp -d "${TMPDIR:-/tmp}/shpool-walls.XXXXXX") || exit 99
trap 'rm -rf "$tmp"' EXIT
failed=0
fail() {
    echo "FAIL $*"
    failed=1
}

# ---- the table: rows "| `folder` ... | what | `may`, `include` ... |" below "<!-- walls -->" ----
# One line "folder may" for each word; a folder that may include nothing has the line "folder -".
awk -F'|' '
    /^<!-- walls -->/ { on = 1; next }
    on && /^$/ && rows { exit }
    on && /^\| `/ {
        rows++
        count = split($2, folder, "`")
        words = split($4, may, "`")
        for (i = 2; i <= count; i += 2) {
            print folder[i], "-"
            for (j = 2; j <= words; j += 2) { print folder[i], may[j] }
        }
    }' "$src/doc/INTERNALS.md" >"$tmp/table"

# ---- includes: lines "file folder-or-file that it includes" ----
folders='allocators check coalesce device include lib simt tools examples'
includes() { # TOP FOLDER-OR-FILE...
    (cd "$1" && shift && grep -HrnE '^ *# *include +["<]' "$@" --include='*.[ch]' \
        --include='*.cu' --include='*.cuh' --include='*.cpp') |
        sed -E 's/^([^:]*):[0-9]*: *# *include +(["<][^">]*)[">].*/\1 \2/' |
        awk -v top="$1" '
            function exists(path, found) {
                found = (getline line < (top "/" path)) >= 0
                close(top "/" path)
                return found
            }
            {
                own = $1
                sub("/[^/]*$", "", own)
                name = substr($2, 2)
                quoted = substr($2, 1, 1) == "\""
                if (quoted && exists(own "/" name)) { path = own "/" name }
                else if (quoted && exists(name)) { path = name }
                else if (name ~ "^shpool/allocators/") { path = substr(name, 8) }
                else if (name ~ "^shpool/") { path = "include/" name }
                else if (name ~ "^lib/") { path = name } # made by configure
                else if (name ~ "/" && exists(name)) { path = name } # -I of the top
                else { next }
                print $1, path
            }'
}

# Reads such lines; prints those that no row allows.  A folder in a row allows everything below it;
# FOLDER/*.h allows only the headers of the folder itself.  NAME is any folder.
breaches() {
    awk '
        NR == FNR {
            rows[$1] = rows[$1] " " $2
            next
        }
        {
            own = $1
            sub("/[^/]*$", "", own)
            to = $2
            sub("/[^/]*$", "", to)
            if (own == to) { next }
            row = own
            if (!(row in rows)) { sub("/[^/]*$", "/NAME", row) }
            while (!(row in rows) && row ~ "/") { sub("/[^/]*$", "", row) }
            if (!(row in rows)) { print $1 " is in a folder without a row"; next }
            seen[row] = 1
            count = split(rows[row], may, " ")
            for (i = 1; i <= count; i++) {
                if (($2 == may[i]) || (index($2, may[i] "/") == 1)) { next }
                if (may[i] == to "/*.h") { next }
            }
            print $1 " includes " $2 "; " row " may include" rows[row]
        }' "$tmp/table" -
}

# shellcheck disable=SC2086 # words
includes "$src" $folders >"$tmp/includes"
[ "$(wc -l <"$tmp/includes")" -ge 500 ] || fail "only $(wc -l <"$tmp/includes") includes were found"
breaches <"$tmp/includes" >"$tmp/breaches"
while IFS= read -r line; do fail "$line"; done <"$tmp/breaches"
[ -s "$tmp/breaches" ] || echo "PASS includes keep to the table of doc/INTERNALS.md"

# A planted include must be seen: of a folder above, of a neighbour, of one without a row.
mkdir -p "$tmp/house" && (cd "$src" && tar cf - lib simt device coalesce tools include allocators \
    examples --exclude='*.o' --exclude=.libs --exclude=plugin.d 2>/dev/null) |
    (cd "$tmp/house" && tar xf -) || fail "the copy"
chmod -R u+w "$tmp/house"
plant() { # FILE INCLUDE [QUOTES]
    quotes=${3:-\"\"}
    cp "$tmp/house/$1" "$tmp/kept" &&
        printf '#include %s%s%s\n' "${quotes%?}" "$2" "${quotes#?}" >>"$tmp/house/$1"
    if includes "$tmp/house" "$1" | breaches | grep -q "^$1 includes $2;"; then
        echo "PASS planted: $1 includes $2"
    else
        fail "planted and not seen: $1 includes $2"
    fi
    cp "$tmp/kept" "$tmp/house/$1"
}
plant lib/plan.c device/base/timeline.h
plant coalesce/ptx/form.c coalesce/llvm/map.h
plant allocators/null/null.h lib/internal.h
plant simt/run.c lib/internal.h
plant tools/bench/plot.c tools/bench/memory/memory.h
plant lib/plan.c device/base/device.h '<>'

# ---- circles: lines "file file" for a call from the first to the second ----
# The objects of one source, PIC and not, of the library and of a test, are one file.  An object
# without a source is left from an earlier build, or made of a generated file.
calls() { # OBJECT...
    $NM -A "$@" | awk -v src="$src" '
        function exists(path, found) {
            found = (getline line < path) >= 0
            close(path)
            return found
        }
        function source_of(object, last) {
            sub("^\\./", "", object)
            sub("/\\.libs/", "/", object)
            sub("^coalesce/plugin\\.d/", "", object)
            sub("\\.o$", "", object)
            if (match(object, "/[^/-]*-[^/]*$")) {
                last = substr(object, RSTART)
                sub("/[^-]*-", "/", last)
                object = substr(object, 1, RSTART - 1) last
            }
            return (exists(src "/" object ".c") || exists(src "/" object ".cu") ||
                    exists(src "/" object ".cpp")) ? object : ""
        }
        {
            object = $0
            sub(":.*", "", object)
            if (!(object in source)) { source[object] = source_of(object) }
            file = source[object]
            count = split(substr($0, length(object) + 2), word, " ")
        }
        file != "" && count == 2 && word[1] == "U" { wanted[file " " word[2]] = 1 }
        file != "" && count == 3 && word[2] ~ /^[TDBRVW]$/ { home[word[3]] = file }
        END {
            for (w in wanted) {
                split(w, part, " ")
                to = home[part[2]]
                if (to != "" && to != part[1]) { print part[1], to }
            }
        }' | sort -u
}

# Reads such lines; prints those that are left when files that call nothing, or that nothing calls,
# are taken away again and again.
circles() {
    awk '
        { from[NR] = $1; to[NR] = $2 }
        END {
            for (count = 1; count > 0;) {
                split("", calls)
                split("", called)
                for (i = 1; i <= NR; i++) {
                    if (!gone[i]) { calls[from[i]] = 1; called[to[i]] = 1 }
                }
                count = 0
                for (i = 1; i <= NR; i++) {
                    if (!gone[i] && (!(to[i] in calls) || !(from[i] in called))) {
                        gone[i] = 1
                        count++
                    }
                }
            }
            for (i = 1; i <= NR; i++) { if (!gone[i]) { print from[i] " calls " to[i] } }
        }'
}

objects=$(find lib device coalesce simt tools -name '*.o' ! -name '*_lto.o' 2>/dev/null)
# shellcheck disable=SC2086
calls $objects >"$tmp/calls"
if [ "$(wc -l <"$tmp/calls")" -lt 200 ]; then
    fail "only $(wc -l <"$tmp/calls") calls between files were found in this build folder"
fi
circles <"$tmp/calls" >"$tmp/circles"
while IFS= read -r line; do fail "in a circle: $line"; done <"$tmp/circles"
[ -s "$tmp/circles" ] || echo "PASS no files call each other in a circle"
if (cat "$tmp/calls"; echo "lib/status lib/registry") | circles | grep -q '^lib/status calls'; then
    echo "PASS planted: a call from lib/status.c to lib/registry.c"
else
    fail "planted and not seen: a call from lib/status.c to lib/registry.c"
fi
exit $failed
