#!/bin/sh
# doc/DEFECTS.md names tests that exist: `file:function` and tests/x.sh.
set -u
page=$top_srcdir/doc/DEFECTS.md
failed=0
count=0

for test in $(grep -o '`test_[a-z]*:[a-z0-9_]*`' "$page" | tr -d '`'); do
    count=$((count + 1))
    if ! cat "$top_srcdir/tests/${test%%:*}".c* | grep -q "\\<${test#*:}\\>"; then
        echo "FAIL $page names $test, which does not exist"
        failed=1
    fi
done
for script in $(grep -o 'tests/[a-z]*\.sh' "$page"); do
    count=$((count + 1))
    if [ ! -f "$top_srcdir/$script" ]; then
        echo "FAIL $page names $script, which does not exist"
        failed=1
    fi
done
for number in $(seq 24); do
    if ! grep -q "^| $number |" "$page"; then
        echo "FAIL $page lacks defect $number"
        failed=1
    fi
done
if [ "$count" -lt 24 ]; then
    echo "FAIL only $count tests were looked for"
    failed=1
fi
exit $failed
