#!/bin/sh
# doc/DEFECTS.md and doc/TROUBLESHOOTING.md name tests that exist: `ROOM/test_x:function` and
# tests/ROOM/x.sh.  The function is in the file or in a header of its room that it includes.
set -u
page=$top_srcdir/doc/DEFECTS.md
pages="$page $top_srcdir/doc/TROUBLESHOOTING.md"
failed=0
count=0

# contents PROGRAM: of its source, and of the headers of its room that this includes
contents() {
    cat "$top_srcdir/tests/$1".c*
    for part in $(sed -n 's/^#include "\(.*\)"$/\1/p' "$top_srcdir/tests/$1".c*); do
        [ ! -f "$top_srcdir/tests/${1%/*}/$part" ] || cat "$top_srcdir/tests/${1%/*}/$part"
    done
}

for test in $(cat $pages | grep -o '`[a-z]*/test_[a-z_]*:[A-Za-z0-9_]*`' | tr -d '`'); do
    count=$((count + 1))
    if ! contents "${test%%:*}" | grep -q "\\<${test#*:}\\>"; then
        echo "FAIL the pages name $test, which does not exist"
        failed=1
    fi
done
for script in $(cat $pages | grep -o 'tests/[a-z]*/[a-z_]*\.sh'); do
    count=$((count + 1))
    if [ ! -f "$top_srcdir/$script" ]; then
        echo "FAIL the pages name $script, which does not exist"
        failed=1
    fi
done
for number in $(seq 24) $(seq -f 'D%g' 38); do
    if ! grep -q "^| $number |" "$page"; then
        echo "FAIL $page lacks defect $number"
        failed=1
    fi
done
if [ "$count" -lt 150 ]; then
    echo "FAIL only $count tests were looked for"
    failed=1
fi
exit $failed
