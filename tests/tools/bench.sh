#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# shpool-bench block and compare, on the CPU block executor: sweeps, CSV and JSON, the same seed,
# progress, Ctrl-C, comparisons, messages.  In the build folder.  Exit: 0; 1; 77 without python3.
# shellcheck disable=SC2016,SC2086,SC2154,SC2317 # programs in quotes; $cpu is words; from make
set -u
unset SHPOOL_ALLOCATOR SHPOOL_DEVICE_ALLOCATOR SHPOOL_LOG_LEVEL SHPOOL_PLUGIN_PATH
# shellcheck source=tests/build/checks.sh
. "$top_srcdir/tests/build/checks.sh"
bench=./shpool-bench
cpu="$bench --device cpu"

# CSV, or JSON, as lines `row name value`
members() { # csv|json FILE
    python3 -c '
import csv, json, sys
form, file = sys.argv[1], open(0 if sys.argv[2] == "-" else sys.argv[2], newline="")
rows = (json.load(file)["rows"] if form == "json" else
        csv.DictReader(line for line in file if line[0] != "#"))
def text(value):
    return ("" if value is None else " ".join(map(text, value)) if isinstance(value, list) else
            value if isinstance(value, str) else "%.6g" % value)
for number, row in enumerate(rows, 1):
    for name, value in row.items():
        print(number, name, text(value))' "$@"
}
csv_members() { members csv "$1"; }
json_members() { members json "$1"; }

if ! command -v python3 >/dev/null; then
    echo "SKIP no python3, by which results are compared"
    exit 77
fi
# the interpreter itself: what stands for it in PATH may take as long again
PATH=$(python3 -c 'import os, sys; print(os.path.dirname(sys.executable))'):$PATH

# ---- a sweep has all combinations, and all formats tell the same ----
a=$work/a.json
check "a sweep" $cpu --allocator bitmap,warp_first_fit:alignment=32,stats=1,null \
    --workload pairs,handoff,fuzz --threads 32-128 --bytes 4K,20K \
    --threads-per-pool 0,8 -i 5 --repeats 3 --json="$a" --csv="$work/a.csv"
cp "$work/out" "$work/a.txt"
csv_members "$work/a.csv" >"$work/csv"
json_members "$a" >"$work/json"
points() { # the distinct combinations that were measured
    awk '$2 ~ /^(spec|workload|threads|payload_bytes|threads_per_pool)$/ { p[$1] = p[$1] " " $3 }
        END { for (r in p) print p[r] }' "$1" | sort -u | wc -l
}
check "3 x 3 x 3 x 2 x 2 combinations in the CSV" test "$(points "$work/csv")" = 108
check "as many rows" test "$(awk '$2 == "spec"' "$work/csv" | wc -l)" = 108
check "as many in the table" test "$(grep -c '^[a-z]' "$work/a.txt")" = 109 # and the heading
check "CSV and JSON tell the same" diff "$work/csv" "$work/json"
check "a row that cannot be says so" grep -q '^[0-9]* note n/a: a thread of another' "$work/csv"
# a spec's own size is the one that is measured, and shown
check "a spec with a size" $cpu --allocator bitmap:payload_bytes=1K --workload pairs -i 1 \
    --json="$work/own.json" --csv="$work/own.csv"
cp "$work/out" "$work/own.txt"
check "the header has it" grep -q ', payload 1024 bytes a block, ' "$work/own.txt"
check "the table has it" grep -q '^bitmap:payload_bytes=1K .* pairs *64 *1024 ' "$work/own.txt"
check "the JSON has it, twice" test "$(grep -c '"payload_bytes": 1024,' "$work/own.json")" = 2
check "the CSV has it" grep -q '^bitmap:payload_bytes=1K,bitmap,table,pairs,measured,64,1024,0,' \
    "$work/own.csv"
expect 0 ', 1 iterations, ' $cpu \
    --allocator bitmap:payload_bytes=1K --allocator bitmap --workload pairs -i 1
check "no size for several" sh -c "! grep -q 'bytes a block' '$work/out'"
expect 0 '^null:total_bytes=8K .* pairs *64 *0 ' $cpu --allocator null:total_bytes=8K \
    --workload pairs -i 1
expect 0 ', payload 2048 bytes a block' env SHPOOL_ALLOCATOR=null:payload_bytes=2k \
    $cpu --workload pairs -i 1
check "a spec that asks for too much" $cpu --allocator null --allocator bitmap:payload_bytes=900K \
    --workload pairs -i 1 --json="$work/big.json" --csv="$work/big.csv"
csv_members "$work/big.csv" >"$work/csv_big"
json_members "$work/big.json" >"$work/json_big"
check "its note has quotes" grep -q '^2 note n/a: spec "bitmap:payload_bytes=900K"' "$work/csv_big"
check "the same in both" diff "$work/csv_big" "$work/json_big"
check "three samples" test "$(awk '$1 == 1 && $2 == "gops_samples" { print NF - 2 }' \
    "$work/csv")" = 3
check "their median" awk '$2 == "gops" { g[$1] = $3 }
    $2 == "gops_samples" && NF == 5 && g[$1] != $3 && g[$1] != $4 && g[$1] != $5 { exit 1 }' \
    "$work/csv"
for fact in version device driver clocks date command iterations repeats seed; do
    check "CSV says $fact" grep -q "^# $fact: ." "$work/a.csv"
    check "JSON says $fact" grep -q "^  \"$fact\": \"*[^\" ]" "$a"
done
check "the command" grep -q '^# command: shpool-bench --device cpu .* --threads 32-128 ' \
    "$work/a.csv"
$cpu --allocator all --skip native --workload mixed -i 2 --repeats 1 >"$work/all" 2>&1
check "all but native" sh -c "! grep -q ^native '$work/all' && grep -q ^null '$work/all'"
check "a name given twice is measured once" test "$($cpu --allocator null --allocator all \
    --allocator null --workload mixed -i 1 --repeats 1 | grep -c '^null ')" = 1
expect 2 'a name is empty; one comma' $cpu --allocator bitmap,,null
check "ranges double, end with their end, and step" sh -c "
    $cpu --allocator null --workload mixed -i 1 --repeats 1 --threads 32-100,10-20:5 |
    awk '/^null/ { print \$4 }' | tr '\\n' ' ' | grep -qx '32 64 100 10 15 20 '"

check "lists add up, each value once, in the order given" sh -c "
    $cpu --allocator null --workload mixed --workload pairs,mixed --threads 64 --threads 32-64 \\
        --bytes 8K --bytes 4K,8K --threads-per-pool 8 --threads-per-pool 0 --binding table \\
        --binding all -i 1 --repeats 1 --csv |
    awk -F, '/^null/ { print \$4, \$6, \$7, \$9 }' >'$work/order'"
for threads in 64 32; do
    for bytes in 8192 4096; do
        for pool in 8 0; do
            for workload in mixed pairs; do
                echo $workload $threads $bytes $pool
            done
        done
    done
done >"$work/ordered"
check "all of them" diff "$work/ordered" "$work/order"
check "so does --total" test "$($cpu --allocator null --workload mixed -i 1 --repeats 1 \
    --total 8K --total 4K --csv | awk -F, '/^null/ { printf "%s ", $8 }')" = '8192 4096 '
expect 2 '--threads 1-40:1: too many values' $cpu --threads 100-140:1 --threads 1-40:1

# ---- the same seed does the same operations, another one others ----
operations() { # SEED
    $cpu --allocator bitmap --allocator thread_first_fit --allocator warp_best_fit --bytes 12K \
        --threads 64 -i 30 --repeats 2 -s "$1" --csv |
        csv_members - | awk '$2 ~ /^(operations|failures|errors|digest|utilisation_percent)$/'
}
operations 7 >"$work/seed7"
operations 7 >"$work/again"
operations 8 >"$work/seed8"
check "the same seed, the same operations" diff "$work/seed7" "$work/again"
check "there are some, and they are counted" awk '$2 == "digest" && NF == 3 { n++ }
    END { exit n < 18 }' "$work/seed7"
for workload in churn mixed ramp aging fuzz; do
    for seed in 7 8; do
        $cpu --allocator bitmap --workload $workload -i 30 --repeats 1 -s $seed --csv |
            csv_members - | sed -n 's/.* digest //p' >"$work/digest$seed"
    done
    check "another seed, others: $workload" sh -c "[ \$(wc -c <$work/digest7) = 17 ] &&
        [ \$(wc -c <$work/digest8) = 17 ] && ! cmp -s $work/digest7 $work/digest8"
done

# ---- aging: sizes that vary leave no small objects all over the pool; no race decides it ----
held() { # ALLOCATOR: tenths of a percent
    $cpu --allocator "$1" --workload aging --threads 128 --threads-per-pool 128 --bytes 48K \
        --repeats 1 --csv | csv_members - | awk '$2 == "utilisation_percent" { print int(10 * $3) }'
}
check "aging: bitmap holds at most ten points less than best fit" \
    test "$(held bitmap)" -ge "$(($(held warp_best_fit) - 100))"

# ---- objects: the same requests with every allocator, all of them served ----
objects="$cpu --workload objects"
counted() { # THREADS SCOPE: operations of a launch of 2 blocks, 5 objects for each unit
    $objects --allocator bitmap --allocator own_slot --scope "$2" --threads "$1" -i 5 --repeats 2 \
        --median 300 --csv | csv_members - | sed -n 's/^[0-9]* operations //p' | tr '\n' ' '
}
check "each thread's" test "$(counted 70 thread)" = '1400 1400 '
check "each 8 lanes', the last ones have 6" test "$(counted 70 tile)" = '180 180 '
check "each warp's, the last one has 6 lanes" test "$(counted 70 warp)" = '60 60 '
check "each leader's" test "$(counted 70 leader)" = '60 60 '
check "each block's" test "$(counted 70 block)" = '20 20 '
o=$work/objects.json
check "all allocators" $objects --allocator all --skip null --allocator own_slot --scope all \
    --median 60,100 --touch 1,0 --threads 64 -i 6 --repeats 2 --json="$o" --csv="$work/objects.csv"
cp "$work/out" "$work/objects.txt"
csv_members "$work/objects.csv" >"$work/csv"
json_members "$o" >"$work/json"
check "CSV and JSON tell the same of objects" diff "$work/csv" "$work/json"
check "every scope, median and touch" test "$(awk '
    $2 ~ /^(scope|median_bytes|touched)$/ { p[$1] = p[$1] " " $3 }
    END { for (r in p) print p[r] }' "$work/csv" | sort -u | wc -l)" = 20
check "digests tell scopes and medians apart, not allocators or touch" test "$(awk '
    $2 == "digest" && NF == 3 && !seen[$3]++ { n++ } END { print n }' "$work/csv")" = 8
check "one digest for each allocator, scope and median" awk '
    $2 == "digest" { digest[$1] = $3 }
    $2 == "scope" { scope[$1] = ($3 == "leader") ? "warp" : $3 }
    $2 == "median_bytes" { median[$1] = $3 }
    END {
        for (r in digest) {
            same = scope[r] " " median[r]
            if (digest[r] == "" || (same in first && first[same] != digest[r])) exit 1
            first[same] = digest[r]
        }
    }' "$work/csv"
check "every payload was right" awk '$2 == "errors" && $3 != 0 { exit 1 }' "$work/csv"
check "no cycles on the CPU" awk '$2 ~ /^(malloc|free)_cycles$/ && NF > 2 { exit 1 }' "$work/csv"
check "the table has their columns" \
    grep -q ' errors scope  median touched  malloc    free$' "$work/objects.txt"
check "other tables have not" sh -c "! grep -q touched '$work/a.txt'"
check "the sizes' spread" grep -qx '# sigma: 0.8' "$work/objects.csv"
check "other workloads have none" grep -qx '# sigma: ' "$work/a.csv"
$objects --allocator bitmap --allocator own_slot --scope thread --threads 64 --bytes 8K -i 10 \
    --repeats 1 --csv | csv_members - >"$work/full"
check "a full pool refuses, which is counted" awk '
    $1 == 1 && $2 ~ /^(failures|failures_percent)$/ && $3 > 0 { n++ } END { exit n != 2 }' \
    "$work/full"
check "and all objects are served" test "$(awk '$2 == "operations" { print $3 }' "$work/full" |
    tr '\n' ' ')" = '2560 2560 '
check "own slots never refuse" grep -qx '2 failures 0' "$work/full"
digests() { # OPTIONS...
    $objects --allocator bitmap -i 5 --repeats 1 "$@" --csv | csv_members - |
        sed -n 's/.* digest //p'
}
check "another seed, other sizes" test "$(digests -s 1)" != "$(digests -s 2)"
check "sigma 0: one size, whatever the seed" \
    test "$(digests -s 1 --sigma 0)" = "$(digests -s 2 --sigma 0)"
check "the largest is 6 times the median" test "$(digests --median 60 --bytes 4K)" = \
    "$(digests --median 60 --bytes 40K)"
expect 0 'own slot .* n/a: no allocator; only objects has this baseline' $cpu \
    --allocator own_slot --workload pairs,objects -i 1
expect 0 'n/a: a pool holds 0 bytes, the least request is 16' $objects --allocator own_slot \
    --scope thread --threads 512 --bytes 4K -i 1
expect 0 'requests of at most 992 bytes: what a pool holds' $objects --allocator thread_bitmap \
    --threads 64 --bytes 62K -i 1
expect 0 'n/a: a stack that several units share' $objects --allocator arena \
    --threads-per-pool 64 -i 1
expect 0 'n/a: refuses every request' $objects --allocator null -i 1
n=$(grep -c '^[a-z]' "$top_srcdir/allocators/list") # each has 5 scopes, 2 sizes, touched or not
same_rows() # SAME ONLY
{
    expect 0 " $1 same; $2 only in A; $2 only in B" $bench compare "$o" "$work/other.json"
}
expect 0 "# $((20 * n)) rows: $((20 * n)) same" $bench compare "$o" "$o"
expect 0 '^bitmap  *table  *objects/tile/100/untouched ' $bench compare "$o" "$o"
sed '/"median_bytes": 100/s/100/101/' "$o" >"$work/other.json"
same_rows $((10 * n)) $((10 * n))
sed '/"scope": "warp"/s/warp/wasp/' "$o" >"$work/other.json"
same_rows $((16 * n)) $((4 * n))
sed '/"touched": 0/s/0/2/' "$o" >"$work/other.json"
same_rows $((10 * n)) $((10 * n))

# ---- compare ----
# edited FILE STATEMENT: results, of which the statement changes each measured row
edited() {
    python3 -c '
import json, sys
results = json.load(open(sys.argv[1]))
for row in results["rows"]:
    if row["gops_samples"]:
        exec(sys.argv[2])
json.dump(results, sys.stdout, indent=2)' "$@"
}
# scaled FACTOR ALLOCATOR: quiet.json with its rates times FACTOR
scaled() {
    edited "$quiet" "if row['spec'] == '$2':
            row['gops'] *= $1
            row['gops_samples'] = [s * $1 for s in row['gops_samples']]"
}
# sampled X Y Z MEDIAN SPREAD: a.json with these samples in place of the measured ones
sampled() {
    edited "$a" "row.update(gops=$4, gops_spread_percent=$5, gops_samples=[$1, $2, $3])"
}
quiet=$work/quiet.json
sampled 1.00 1.01 1.02 1.01 0.99 >"$quiet"
scaled 0.5 bitmap >"$work/slow.json"
scaled 2 bitmap >"$work/fast.json"
scaled 0.99 bitmap >"$work/near.json"
scaled 0.9 bitmap >"$work/less.json"
expect 0 '^# 108 rows: 108 same; geometric mean of the speeds 1.000' \
    $bench compare "$quiet" "$quiet"
expect 0 ' 108 same; geometric' $bench compare "$quiet" "$work/near.json"
expect 0 ' 36 slower;' $bench compare "$quiet" "$work/slow.json"
expect 0 '^bitmap .* 0\.500 .*  slower$' $bench compare "$quiet" "$work/slow.json"
expect 0 ' 36 slower;' $bench compare "$quiet" "$work/less.json"
sampled 1.0 1.0 1.3 1.0 0.0 >"$work/jump.json"
sampled 1.2 0.9 1.2 1.2 0.0 >"$work/jumps.json"
expect 0 ' 108 same;' $bench compare "$work/jump.json" "$work/jumps.json"
sampled 1.2 1.1 1.3 1.2 8.33 >"$work/wide.json"
expect 0 ' 108 same;' $bench compare "$quiet" "$work/wide.json"
sampled 1.2 1.2 1.3 1.2 1.0 >"$work/narrow.json"
expect 0 ' 12 same; 96 faster;' $bench compare "$quiet" "$work/narrow.json"
expect 0 ' 108 same;' $bench compare --noise 20 "$quiet" "$work/less.json"
expect 0 ' 36 faster;' $bench compare "$quiet" "$work/fast.json"
check "only bitmap is named" sh -c "$bench compare --changed '$quiet' '$work/slow.json' |
    awk '/slower\$/ && \$1 != \"bitmap\" { exit 1 } /^[a-z]/ { n++ } END { exit n != 37 }'"
expect 1 ' 36 slower;' $bench compare --fail-on 1.5 "$quiet" "$work/slow.json"
expect 0 ' 36 slower;' $bench compare --fail-on 2.5 "$quiet" "$work/slow.json"
expect 0 ' 36 faster;' $bench compare --fail-on 1 "$quiet" "$work/fast.json"
sed 's/"failures_percent": 0.0,/"failures_percent": 3.0,/' "$quiet" >"$work/refuses.json"
expect 1 ' refuses more' $bench compare --fail-on 1.5 "$quiet" "$work/refuses.json"
sed 's/"errors": 0,/"errors": 1,/' "$quiet" >"$work/broken.json"
expect 1 ' fails;' $bench compare --fail-on 1.5 "$quiet" "$work/broken.json"
$cpu --allocator bitmap --workload pairs --threads 32 --bytes 4K -i 5 --repeats 3 -s 9 \
    --json="$work/one.json" >/dev/null
sed '1,/"state": "measured"/s/"state": "measured"/"state": "n\/a"/' "$quiet" >"$work/gone.json"
expect 1 ' 1 only in A;' $bench compare --fail-on 9 "$quiet" "$work/gone.json"
expect 0 ' 1 only in B;' $bench compare --fail-on 9 "$work/gone.json" "$quiet"
$cpu --allocator bitmap --workload ramp --repeats 1 --json="$work/ramp.json" >"$work/table"
sed 's/"utilisation_percent": [0-9.]*,/"utilisation_percent": 41.0,/' "$work/ramp.json" \
    >"$work/less.json"
expect 1 ' 1 holds less;' $bench compare --fail-on 9 "$work/ramp.json" "$work/less.json"
expect 0 ' 1 same;' $bench compare --fail-on 9 "$work/less.json" "$work/ramp.json"
expect 0 ' 107 only in A;' $bench compare "$quiet" "$work/one.json"
expect 1 ' only in A;' $bench compare --fail-on 9 "$quiet" "$work/one.json"
expect 0 '^# seed differs: A 1; B 9$' $bench compare "$quiet" "$work/one.json"
# of a sweep, which has no single value, all that its rows have
check "a sweep's threads and bytes" $cpu --allocator null --workload pairs -i 1 --repeats 1 \
    --threads 32-128 --bytes 4k,8k --json="$work/swept.json"
check "others by total" $cpu --allocator null --workload pairs -i 1 --repeats 1 \
    --total 8K --json="$work/total.json"
expect 0 '^# threads differs: A 32, 64, 128; B 64$' $bench compare "$work/swept.json" \
    "$work/total.json"
expect 0 '^# payload_bytes differs: A none; B 4096, 8192$' $bench compare "$work/total.json" \
    "$work/swept.json"
# commanded WORDS...: a.json of a command with these at its end; their quotes as in JSON
commanded() { sed "s|^  \"command\": \".*\"|  \"command\": \"shpool-bench -i 5 $*\"|" "$quiet"; }
commanded >"$work/plain.json"
for words in --json=after.json --json "--csv='my results.csv'" '--plot chart.svg' \
    --plot=chart.svg "--plot 'a chart.svg' --csv" '--js=x --pl y'; do
    commanded "$words" >"$work/words.json"
    expect 0 ' 108 same;' $bench compare "$work/plain.json" "$work/words.json"
    check "where results go is no other command: $words" \
        sh -c '! grep "^# command differs" "$2" && grep -qF -- "$1" "$3"' - "${words%%[= ]*}" \
        "$work/out" "$work/words.json"
done
for name in before "it's after"; do
    $cpu --allocator null --workload pairs -i 1 --repeats 1 --json="$work/$name.json" >/dev/null
done
check "a quoted name" grep -qF "it'\\\\''s after" "$work/it's after.json"
check "is read, too" sh -c '! "$1" compare "$2" "$3" | grep "^# command differs"' - $bench \
    "$work/before.json" "$work/it's after.json"
for words in '-s 9' '--plot chart.svg --skip null' '--json pairs' '--threads=--json'; do
    commanded "$words" >"$work/words.json"
    expect 0 "^# command differs: A shpool-bench -i 5 *; B shpool-bench -i 5 $words\$" \
        $bench compare "$work/plain.json" "$work/words.json"
done
sed 's/"format": 1,/"format": 99,/' "$quiet" >"$work/format.json"
expect 2 'format.json: format 99; this shpool-bench (.*) reads format 1: measure again' \
    $bench compare "$quiet" "$work/format.json"
echo '{"kind": "shpool-bench loadstore", "rows": []}' >"$work/kind.json"
expect 2 'holds "shpool-bench loadstore"; a file that shpool-bench \[block\] --json=FILE wrote' \
    $bench compare "$work/kind.json" "$quiet"
echo '{"rows": []}' >"$work/kind.json"
expect 2 'has no member "kind"' $bench compare "$quiet" "$work/kind.json"
grep -vE '"(scope|median_bytes|touched|malloc_cycles|free_cycles|sigma)":' "$quiet" \
    >"$work/older.json"
expect 0 ' 108 same;' $bench compare "$work/older.json" "$quiet"
grep -v '"gops":' "$quiet" >"$work/short.json"
expect 2 'row 1: "gops" is missing' $bench compare "$quiet" "$work/short.json"
expect 2 'a.csv: is not JSON of shpool-bench: .*line 1' $bench compare "$quiet" "$work/a.csv"
hostile() { # FILE...: each is refused with a line, not compared, and Python does not say it
    for file in "$@"; do
        expect 2 '^shpool-bench: ' $bench compare "$file" "$quiet"
        check "in one line" test "$(wc -l <"$work/out")" = 1
    done
}
for member in gops:true gops:1e999 gops:NaN pools:-1 pools:1.5 pools:true operations:1e400 \
    spec:null cycles_samples:1 state:[] seed:9999999999999999999; do
    sed "1,/\"${member%%:*}\":/s/\"${member%%:*}\": [^,]*/\"${member%%:*}\": ${member#*:}/" \
        "$quiet" >"$work/$member.json"
    hostile "$work/$member.json"
done
head -c 20000 /dev/zero | tr '\0' '[' >"$work/deep.json"
printf '"\377"' >"$work/bytes.json"
echo '[]' >"$work/list.json"
hostile "$work/deep.json" "$work/bytes.json" "$work/list.json" \
    "$top_srcdir"/tests/corpus/results/*[eny]
for file in objects pairs; do
    expect 0 ' same' $bench compare "$top_srcdir/tests/corpus/results/$file" \
        "$top_srcdir/tests/corpus/results/$file"
done
check "a pipe is read" sh -c "cat '$quiet' | $bench compare /dev/stdin '$quiet' | grep ' 108 same'"
: >"$work/empty.json"
expect 2 'empty.json: is empty$' $bench compare "$quiet" "$work/empty.json"
expect 2 ': is a directory$' $bench compare "$quiet" "$work"
expect 2 'nobody.json: No such file or directory$' $bench compare "$quiet" "$work/nobody.json"
expect 2 'exactly two files of results are needed, got 1' $bench compare "$quiet"
expect 2 'exactly two files of results are needed, got 3' $bench compare "$quiet" "$quiet" "$quiet"
expect 2 '--noise x: a number from 0 to 1000' $bench compare --noise x "$quiet" "$quiet"
expect 0 '^usage: shpool-bench compare' $bench compare --help

# ---- Ctrl-C, progress ----
long="--allocator bitmap --allocator thread_bitmap --threads 64-1024 --bytes 4K-64K -i 40"
timeout -s INT --preserve-status 1 $cpu $long --csv="$work/cut.csv" --json="$work/cut.json" \
    >"$work/cut" 2>"$work/said"
check "Ctrl-C: exit status 130" test $? = 130
rows=$(grep -c '^bitmap \|^thread_bitmap ' "$work/cut")
check "a table of what was measured" test "$rows" -ge 1
check "it says so" grep -qx "# interrupted: $rows of 500 rows" "$work/cut"
check "so does the CSV" test "$(grep -vc '^#' "$work/cut.csv")" = $((rows + 1))
check "so does the JSON" test "$(json_members "$work/cut.json" | grep -c ' spec ')" = "$rows"
check "JSON names what was planned" grep -q '^  "planned": 500,' "$work/cut.json"
check "silence in a pipe" test ! -s "$work/said"
# under nohup SIGHUP is ignored, and stays so in the tool
env --default-signal=HUP true 2>/dev/null && cpu="env --default-signal=HUP $cpu"
signals() { # SIGNAL STATUS SECONDS: output of a running launch after two signals with that delay
    : >"$work/twice"
    $cpu --allocator warp_best_fit --workload fuzz --threads 128 -i 4000 >"$work/twice" 2>&1 &
    while ! grep -q '^allocator' "$work/twice"; do # the table's heading
        kill -0 $! 2>/dev/null || return 1
        sleep 0.01
    done
    sleep 0.1
    kill -$1 $!
    sleep "$3"
    kill -$1 $! 2>/dev/null
    wait $! 2>/dev/null
    test $? = $2 && grep -qx '# interrupted: 0 of 1 row' "$work/twice"
}
check "SIGHUP ends it; two at once are one" signals HUP 129 0.02
check "a second one ends it at once" signals HUP 129 0.3
check "SIGTERM, which timeout sends twice" signals TERM 143 0.02
saves() { # SIGNALS...: the first row is saved, and the second launch, of 10 minutes, not waited for
    mkdir -p "$work/term"
    : >"$work/said" # the loop must not see the run before
    timeout --foreground -s KILL 300 $cpu --allocator null --allocator bitmap \
        --workload fuzz --threads 1024 -i 50000 --repeats 1 --csv="$work/term/csv" \
        --json="$work/term/json" >"$work/said" 2>&1 &
    while ! grep -q '^null' "$work/said"; do
        kill -0 $! 2>/dev/null || return 1
        sleep 0.01
    done
    check "nothing is under the final name" test ! -e "$work/term/csv"
    for signal in "$@"; do
        kill -"$signal" $!
        sleep 0.3
    done
    wait $! 2>/dev/null
    [ $? -ne 137 ] && [ "$(grep -c '^null' "$work/term/csv")" = 1 ] &&
        [ "$(json_members "$work/term/json" | grep -c ' spec ')" = 1 ] &&
        [ "$(echo "$work"/term/*)" = "$work/term/csv $work/term/json" ]
}
check "SIGTERM saves what was measured" saves TERM
rm "$work"/term/*
check "so does a second SIGHUP" saves HUP HUP
if command -v script >/dev/null 2>&1; then
    script -qec "$cpu --allocator bitmap -i 2" /dev/null </dev/null >"$work/terminal" 2>&1
    check "progress and time left on a terminal" \
        grep -q '10 of 10, [0-9]*:[0-9][0-9] left: bitmap, objects, 64 threads' "$work/terminal"
    script -qec "$cpu --allocator bitmap -i 2 2>/dev/null" /dev/null </dev/null >"$work/terminal"
    check "on stderr" sh -c "! grep -q 'left:' '$work/terminal'"
fi

# ---- messages ----
expect 2 '--threads 32,x: numbers from 1 to 1024 are .* 128-1024 (doubles)' $cpu --threads 32,x
expect 2 '--threads 64-32: a range goes up' $cpu --threads 64-32
expect 2 '--threads 1-2000: numbers from 1 to 1024' $cpu --threads 1-2000
expect 2 '--threads 100:5: a step follows a range: 100-400:100' $cpu --threads 100:5
expect 2 '--threads 1-1024:1: too many values; .* at most 64' $cpu --threads 1-1024:1
expect 2 '--threads : numbers' $cpu --threads ''
expect 2 '--threads-per-pool 0-8: 0 does not double' $cpu --threads-per-pool 0-8
expect 2 '--bytes 4K,999K: numbers from 16 to 232448' $cpu --bytes 4K,999K
expect 2 '--bytes (payload) and --total (payload and metadata) exclude each other' \
    $cpu --bytes 4K --total 4K
expect 2 '"mixt" is not a value of --workload; known: pairs, .*objects, all$' \
    $cpu --workload mixed,mixt
expect 2 '"pair" is not a value of --workload (did you mean "pairs"?)' $cpu --workload pair
expect 2 '--workload pairs,,mixed: a name is empty; one comma' $cpu --workload pairs,,mixed
expect 2 '--workload : a name is empty' $cpu --workload=
expect 2 '"wrap" is not a value of --scope.*; known: thread, tile, warp, leader, block, all$' \
    $cpu --scope warp,wrap
# the option as it was typed, and no hint that does not apply
expect 2 'shpool-bench: --seed abc: a number from 0 to 4294967295 is needed$' $cpu --seed abc
expect 2 'shpool-bench: -s abc: a number from 0 to 4294967295 is needed$' $cpu -s abc
expect 2 '--iterations 0: a number from 1 to 100000000 is needed$' $cpu --iter 0
expect 2 'shpool-bench: --json: the file name is empty$' $cpu --json=
expect 2 'shpool-bench: --csv: the file name is empty$' $cpu --csv=
expect 2 'shpool-bench: --plot: the file name is empty$' $cpu --plot ''
expect 2 'shpool-bench: -o: the file name is empty$' $bench plot "$quiet" -o ''
# --skip without effect
expect 2 '--skip bitmap contradicts --allocator bitmap; give one$' $cpu --skip bitmap \
    --allocator bitmap
expect 2 '--skip null contradicts --allocator null' $cpu --allocator all --allocator null \
    --skip null
expect 2 '--skip null leaves an allocator out of --allocator all, which is not given' $cpu \
    --skip null
expect 2 '--median 8: numbers from 16 to 232448' $cpu --median 8
expect 2 '--touch 0-2: numbers from 0 to 1' $cpu --touch 0-2
expect 2 '--sigma x: a number from 0 to 4' $cpu --sigma x
expect 2 '--sigma 5: a number from 0 to 4' $cpu --sigma 5
expect 2 '"bound" is not a value of --binding.*; known: table, inline, linked, all$' \
    $cpu --binding bound
expect 1 '--binding linked needs a GPU; the CPU has table' $cpu --binding linked,inline
expect 2 '"gpu" is not a value of --device.*; known: cpu, cuda$' $bench --device gpu
expect 2 'unexpected argument "x.json"; a file is written --json=FILE' $cpu --json x.json
expect 2 '--json and --csv both go to stdout; give one a FILE' $cpu --json --csv
expect 1 'none/x.json: No such file or directory' $cpu --json="$work/none/x.json"
expect 2 '--repeats 1000: a number from 1 to 101' $cpu --repeats 1000
expect 1 '--skip nobody: .*known allocators' $cpu --allocator all --skip nobody
expect 1 'known allocators: ' $cpu --allocator bitmap --allocator nobody
expect 1 'known allocators: ' $cpu --allocator nobody --threads 32-1024 --csv
check "once, before anything is measured" test "$(wc -l <"$work/out")" = 1
expect 1 'nothing was measured' $cpu --allocator thread_best_fit --threads 1024 --total 16K
expect 0 'n/a: a pool holds 32 bytes, the least request is 64' $cpu --allocator thread_bitmap \
    --workload pairs --threads 64 --bytes 2K
exit $failed
