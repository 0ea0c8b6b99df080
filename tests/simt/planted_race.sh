#!/bin/sh
# ThreadSanitizer sees through the executor: it reports every planted race, and no correct kernel.
set -u
if [ -z "$tsan_cflags" ]; then
    echo "no ThreadSanitizer in this build"
    exit 77
fi
TSAN_OPTIONS=exitcode=66
export TSAN_OPTIONS
failed=0
for engine in fibers threads; do
    for bug in none relaxed_release plain_load dropped_barrier dropped_phase; do
        expected=66
        [ $bug = none ] && expected=0
        "$top_builddir/tests/simt/planted_race" $bug $engine
        status=$?
        if [ $status = $expected ]; then
            echo "ok   $bug $engine"
        else
            echo "FAIL $bug $engine: exit $status, not $expected"
            failed=1
        fi
    done
done
exit $failed
