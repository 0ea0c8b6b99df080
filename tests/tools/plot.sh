#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# shpool-bench --plot, plot and map: pictures by Python with matplotlib.  test_draw.py looks at what
# draw.py draws; here are whole runs, texts that may come from anyone, files, and doc/.  In the
# build folder.  Exit: 0; 1; 77 without matplotlib or xmllint.
# shellcheck disable=SC2016,SC2154,SC2317 # programs in single quotes; top_srcdir from make
set -u
unset SHPOOL_ALLOCATOR SHPOOL_DEVICE_ALLOCATOR SHPOOL_LOG_LEVEL SHPOOL_PLUGIN_PATH
# shellcheck source=tests/build/checks.sh
. "$top_srcdir/tests/build/checks.sh"
here=$PWD
bench=$here/shpool-bench

for python in python3 /usr/bin/python3 none; do
    $python -c 'import matplotlib' 2>/dev/null && break
done
if [ $python = none ] || ! command -v xmllint >/dev/null 2>&1; then
    echo "SKIP without Python's matplotlib (Debian's python3-matplotlib) or xmllint (libxml2-utils)"
    exit 77
fi

# texts PICTURE: what is written in it, a line each
texts() { tr '>' '\n' <"$1" | sed -n 's/<\/text$//p'; }

# python NAME SCRIPT: in the folder NAME, a python3 that is this shell script
python() {
    mkdir -p "$work/$1"
    printf '#!/bin/sh\n%s\n' "$2" >"$work/$1/python3"
    chmod +x "$work/$1/python3"
}

python cat 'exec cat <&3'
if $python "$top_srcdir/tests/tools/test_draw.py" "$bench" "$work/cat" >"$work/drawn" 2>&1; then
    cat "$work/drawn"
else
    check "test_draw.py" cat "$work/drawn" false
fi

# ---- whole runs ----
check "a run draws bars" $bench --device cpu --allocator all -i 20 --repeats 1 \
    --json="$work/a.json" --csv="$work/a.csv" --plot "$work/a.svg"
check "well-formed" xmllint --noout "$work/a.svg"
texts "$work/a.svg" >"$work/texts"
grep -v '^#' "$work/a.csv" | sed 1d | cut -d, -f1 | sort -u >"$work/names"
check "twelve allocators" test "$(wc -l <"$work/names")" -ge 12
check "all are named" test -z "$(sort -u "$work/texts" | comm -13 - "$work/names")"
refused=$(grep -v '^#' "$work/a.csv" | awk -F, '$4 !~ /^(ramp|aging)$/ && $19 > 0' | sed 1d | wc -l)
check "a ring for each row with refusals" test "$(grep -o 'id="refused-' "$work/a.svg" | wc -l)" = \
    "$refused" -a "$refused" -ge 5
check "the command" grep -q '^shpool-bench --device cpu --allocator all ' "$work/texts"
check "the device" grep -q '^CPU block executor .*clocks: ' "$work/texts"
for text in pairs 'malloc(64), free' 'objects, warp' 'percent of the pool used' ' n/a'; do
    check "$text" grep -qxF "$text" "$work/texts"
done
check "the same from a file" $bench plot "$work/a.json" -o "$work/b.svg"
texts "$work/b.svg" >"$work/again"
check "but for the option" test "$(diff "$work/texts" "$work/again" | grep -c '^>')" -le 1
sed 's/"cycles_per_op": null/"cycles_per_op": 123.0/' "$work/a.json" >"$work/f.json"
check "another figure" $bench plot "$work/f.json" --figure cycles -o "$work/f.svg"
check "its axis" grep -q '>cycles an operation, one block alone<' "$work/f.svg"
for format in png:PNG pdf:PDF; do
    check "${format%:*}" $bench plot "$work/a.json" -o "$work/b.${format%:*}"
    check "it is one" sh -c "head -c 4 '$work/b.${format%:*}' | grep -q ${format#*:}"
done
check "three allocators" $bench --device cpu --allocator thread_bitmap --allocator bitmap \
    --allocator null --workload pairs,handoff -i 1 --repeats 1 --json="$work/whole.json"
awk '/^    \{/ { row++ } row == 5 && /^    \}/ { print "    }\n  ]\n}"; exit } { print }' \
    "$work/whole.json" >"$work/cut.json"
check "an interrupted run" $bench plot "$work/cut.json" -o "$work/cut.svg"
check "says so" grep -q INTERRUPTED "$work/cut.svg"
check "the sixth row was not measured" grep -q '> not measured<' "$work/cut.svg"

# ---- a file of results is text: it runs nothing, and moves no cursor ----
# evil MEMBER VALUE: the results with that value, as JSON has it, in the first row or the head
evil() {
    member="\"$1\": " value="\"$2\"," awk '
        index($0, ENVIRON["member"]) && !n++ { print ENVIRON["member"] ENVIRON["value"]; next }
        { print }' "$work/whole.json" >"$work/evil.json"
}
ran="touch $work/ran"
value="x'\\n__import__('os').system('$ran')\$\\\\frac{1}\$<b>&\`$ran\`\\u001b]0;y\\u009b"
for member in spec device command; do
    evil $member "$value"
    check "$member: drawn" $bench plot "$work/evil.json" -o "$work/evil.svg"
    check "$member: well-formed" xmllint --noout "$work/evil.svg"
    check "$member: compared" $bench compare "$work/evil.json" "$work/whole.json"
    check "$member: nothing else ran" test ! -e "$work/ran"
    texts "$work/evil.svg" | tr -d '\n' >"$work/texts"
    check "$member: as text" grep -qF '\x0a__import__(' "$work/texts"
    cat "$work/texts" >>"$work/out"
    check "$member: no escapes" sh -c "! tr -d '\\n' <'$work/out' | grep -q '[[:cntrl:]]'"
done
for member in workload binding state; do
    evil $member "x'!sh"
    expect 2 "row 1 has the $member \"x'!sh\"; known:" $bench plot "$work/evil.json" \
        -o "$work/e.svg"
done
evil kind 'x\u001b[2J'
expect 2 'holds "x.x1b\[2J"' $bench plot "$work/evil.json" -o "$work/e.svg"
evil kind 'x\u202e' # reverses the direction of the text after it
expect 2 'holds "x.xe2.x80.xae"' $bench plot "$work/evil.json" -o "$work/e.svg"
sed 's/"threads": 64/"threads": 4294967360/' "$work/whole.json" >"$work/evil.json"
expect 2 '"threads" is missing or has another type' $bench plot "$work/evil.json" -o "$work/e.svg"
# no module of the current folder, whose files may come from anyone, too
mkdir "$work/modules"
for module in json matplotlib numpy; do
    echo "open('$work/ran', 'w')" >"$work/modules/$module.py"
done
check "in another folder" sh -c "cd '$work/modules' && $bench plot '$work/a.json' -o m.svg"
check "its modules were not imported" test ! -e "$work/ran"

# ---- many rows: where each row is compared with each other one, they take minutes ----
$bench --device cpu --allocator null --workload pairs -i 1 --repeats 1 --json="$work/one.json" \
    >/dev/null
# rows NAME ROWS PANELS: one row with other threads, bytes and threads_per_pool each time
rows() {
    $python -c '
import json, sys
one, to, rows, panels = *sys.argv[1:3], *map(int, sys.argv[3:])
results = json.load(open(one))
results["rows"] = [{**results["rows"][0], "threads": 1 + i % 64, "payload_bytes": 16 + i % 60,
                    "threads_per_pool": i % panels} for i in range(rows)]
json.dump(results, open(to, "w"), indent=2)' "$work/one.json" "$work/$1.json" "$2" "$3"
}
draw() { $bench plot "$work/$1.json" -o "$work/$1.svg"; }
compare() { $bench compare "$work/$1.json" "$work/$1.json" >"$work/compared"; }
rows few 1600 1
rows many 12800 1
check_linear "12,800 rows drawn" draw
rows many 3200 1020
expect 1 'panels are needed; a chart has at most 100' $bench plot "$work/many.json" -o "$work/e.svg"
rows few 1500 1500
rows many 12000 12000
check_linear "12,000 rows compared" compare
check "all of them" grep -q '^# 12000 rows: 12000 same' "$work/compared"

# ---- no Python, no matplotlib, no picture; the chart of before stays ----
cp "$work/a.svg" "$work/e.svg"
python half 'echo half; exit 5'
expect 1 'Python did not read the results (exit status 5)' \
    env PATH="$work/half:$PATH" $bench plot "$work/a.json" -o "$work/e.svg"
python bare 'exit 3'
if /usr/bin/python3 -c 'import matplotlib' 2>/dev/null; then
    check "the system's Python has it" env PATH="$work/bare:$PATH" $bench plot "$work/a.json" \
        -o "$work/b.svg"
    check "or there is no other" env PATH=/nonexistent $bench plot "$work/a.json" -o "$work/b.svg"
else
    expect 2 'there is no matplotlib; install the package python3-matplotlib .*pip install' \
        env PATH="$work/bare:$PATH" $bench --device cpu -i 1 --plot "$work/e.svg"
    check "and nothing was measured" test "$(wc -l <"$work/out")" = 2
    expect 1 'there is no python3' env PATH=/nonexistent $bench plot "$work/a.json" -o "$work/e.svg"
fi
expect 2 'none/e.svg: No such file' $bench plot "$work/a.json" -o "$work/none/e.svg"
expect 2 'none/e.svg: No such file' $bench --device cpu -i 1 --plot "$work/none/e.svg"
check "and nothing was measured" test "$(wc -l <"$work/out")" = 2
expect 2 'e.jpg: a name that ends in .svg, .png or .pdf' $bench plot "$work/a.json" -o "$work/e.jpg"
expect 2 '"cycle" is not a value of --figure (did you mean "cycles"?); known: gops, cycles, fail' \
    $bench plot "$work/a.json" -o "$work/e.svg" --figure cycle
expect 2 '-o FILE is missing, which names the chart' $bench plot "$work/a.json"
expect 2 'exactly one file of results is needed, got [02]' $bench plot -o "$work/e.svg"
expect 2 'a.csv: is not JSON' $bench plot "$work/a.csv" -o "$work/e.svg"
check "the chart of before is still there" cmp "$work/a.svg" "$work/e.svg"

# ---- the pictures of doc/ are those of doc/results ----
mkdir "$work/doc"
check "drawn anew" $python "$top_srcdir/doc/charts.py" $bench "$work/doc"
for picture in bench coalesce crowd loadstore map pytorch; do
    texts "$work/doc/$picture.svg" >"$work/drawn"
    texts "$top_srcdir/doc/$picture.svg" >"$work/stored"
    check "$picture: the one in doc/ is of these figures" diff "$work/stored" "$work/drawn"
    check "$picture: 800 pixels wide" grep -q ' width="600pt"' "$work/doc/$picture.svg"
done
check "versions are not cut" grep -q '; driver [0-9]*\.[0-9]*\.[0-9]*, ' "$work/doc/bench.svg"
check "all of them are small" test "$(cat "$top_srcdir"/doc/*.svg | wc -c)" -lt 120000
# the figures of the picture are those of the results
awk '/^[a-z]/ { print $1, $2, $3 }' "$top_srcdir/doc/results/coalesce.dat" >"$work/figures"
sed -n 's/^ *"\([a-z0-9_]*\)": \[\([0-9]*\), \([0-9]*\), .*/\1 \2 \3/p' \
    "$top_srcdir"/doc/results/h200.json | sort >"$work/table"
check "coalesce: figures of seventeen kernels" test "$(wc -l <"$work/figures")" = 17
check "coalesce: all are in doc/results/h200.json" \
    test -z "$(sort "$work/figures" | comm -23 - "$work/table")"
exit $failed
