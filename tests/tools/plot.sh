#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# shpool-bench --plot and plot: charts that name every allocator and mark refusals and failures.  In
# the build folder.  Exit: 0; 1; 77 without jansson, gnuplot or xmllint.
# shellcheck disable=SC2016,SC2154,SC2317 # programs in single quotes; top_srcdir from make
set -u
unset SHPOOL_ALLOCATOR SHPOOL_DEVICE_ALLOCATOR SHPOOL_LOG_LEVEL SHPOOL_PLUGIN_PATH
# shellcheck source=tests/build/checks.sh
. "$top_srcdir/tests/build/checks.sh"
bench=./shpool-bench

if ! $bench --device cpu --allocator null --workload pairs -i 1 --json >"$work/json" 2>&1; then
    echo "SKIP without jansson there is no JSON: $(head -1 "$work/json")"
    exit 77
fi
for need in gnuplot:gnuplot-nox xmllint:libxml2-utils; do
    if ! command -v ${need%:*} >/dev/null 2>&1; then
        echo "SKIP without ${need%:*} (Debian's ${need#*:})"
        exit 77
    fi
done

# marks CHART N: how often gnuplot's point N stands in it, without its definition and the legend's
marks() { echo $(($(grep -c "<use xlink:href='#gpPt$2' transform" "$1") - 1)); }

fails() { # STATUS TEXT COMMAND...
    status=$1
    expected=$2
    shift 2
    "$@" >"$work/said" 2>&1
    got=$?
    check "$expected" test $got = "$status"
    check "$expected" grep -q -- "$expected" "$work/said"
}

# names_all CHART RESULTS.csv: each allocator stands as text in it
names_all() {
    grep -v '^#' "$2" | sed 1d | sed 's/^"\([^"]*\)".*/\1/; t; s/,.*//' | sort -u >"$work/names"
    [ -s "$work/names" ] || return 1
    while IFS= read -r name; do
        grep -qF "<text>$name</text>" "$1" || return 1
    done <"$work/names"
}

refused() { # RESULTS.csv: drawn rows with failures; no spec here holds a comma
    grep -v '^#' "$1" | sed 1d | awk -F, '$4 !~ /^(ramp|aging)$/ && $19 > 0 { n++ }
        END { print n + 0 }'
}

# ---- bars ----
check "a run draws" $bench --device cpu --allocator all -i 20 --repeats 1 --json="$work/a.json" \
    --csv="$work/a.csv" --plot "$work/a.svg"
check "bars: well formed" xmllint --noout "$work/a.svg"
check "bars: all allocators named" names_all "$work/a.svg" "$work/a.csv"
check "bars: under each panel, and in the legend" \
    test "$(grep -cF '<text>arena</text>' "$work/a.svg")" = 11
check "bars: some requests were refused" test "$(refused "$work/a.csv")" -ge 5
check "bars: rings where they were" test "$(marks "$work/a.svg" 5)" = "$(refused "$work/a.csv")"
check "bars: nothing failed" test "$(marks "$work/a.svg" 1)" = 0
check "bars: the command" grep -q '<text>shpool-bench --device cpu --allocator all ' "$work/a.svg"
check "bars: the device" grep -q '<text>CPU block executor .*clocks: ' "$work/a.svg"
check "bars: who is not there" grep -q '<text>n/a: arena, freelist,' "$work/a.svg"
for workload in pairs batch churn mixed handoff waiting ramp aging fuzz 'objects, warp'; do
    check "bars: $workload" grep -q "<text>$workload</text>" "$work/a.svg"
done

# ---- lines, drawn from the file of results ----
check "a sweep" $bench --device cpu --allocator bitmap --allocator thread_bitmap \
    --allocator "freelist:threads_per_pool=8" --workload mixed,ramp --threads 32-256 \
    --bytes 4K,12K -i 20 --repeats 1 --json="$work/b.json" --csv="$work/b.csv"
check "plot draws it" $bench plot "$work/b.json" -o "$work/b.svg"
check "lines: well formed" xmllint --noout "$work/b.svg"
check "lines: all allocators named" names_all "$work/b.svg" "$work/b.csv"
check "lines: rings" test "$(marks "$work/b.svg" 5)" = "$(refused "$work/b.csv")"
cat >"$work/panels" <<EOD
mixed, 4K bytes
mixed, 12K bytes
ramp, 4K bytes
ramp, 12K bytes
EOD
sed -n 's/.*<text>\([a-z]*, [0-9]*K bytes\)<.*/\1/p' "$work/b.svg" >"$work/drawn"
check "lines: a row of panels for each workload" diff "$work/panels" "$work/drawn"
check "lines: an axis" grep -q '<text>threads of a block</text>' "$work/b.svg"

# ---- one look for each allocator, in all charts ----
# looks CHART.gp RESULTS.csv: "spec colour dash point" of each series, sorted; bars: spec and colour
looks() {
    grep -v '^#' "$2" | sed 1d | sed 's/^"\([^"]*\)".*/\1/; t; s/,.*//' |
        awk '!seen[$0]++' >"$work/specs"
    awk 'FNR == NR { spec[n++] = $0; next }
        match($0, /^ \$p[0-9]+s[0-9]+ .*(with boxes|with linespoints)/) {
            series = $1; sub(/.*s/, "", series)
            match($0, /#[0-9a-f]+/)
            colour = substr($0, RSTART, RLENGTH)
            dash = point = "-"
            for (i = 1; i < NF; i++) {
                if ($i == "dt") dash = $(i + 1)
                if ($i == "pt") point = $(i + 1)
            }
            print spec[series], colour, dash, point
        }' "$work/specs" "$1" | sort -u
}
check "lines of all" $bench --device cpu --allocator all --workload pairs,mixed --threads 32,64 \
    --bytes 46K -i 5 --repeats 1 --json="$work/l.json" --csv="$work/l.csv"
check "a script of them" $bench plot "$work/l.json" -o "$work/l.gp"
check "a script of bars" $bench plot "$work/a.json" -o "$work/a.gp"
looks "$work/l.gp" "$work/l.csv" >"$work/l.looks"
looks "$work/a.gp" "$work/a.csv" >"$work/a.looks"
check "looks: each allocator has one" test "$(wc -l <"$work/l.looks")" = \
    "$(cut -d' ' -f1 "$work/l.looks" | sort -u | wc -l)"
check "looks: of twelve" test "$(wc -l <"$work/l.looks")" -ge 12
check "looks: no two are the same" test -z "$(cut -d' ' -f2- "$work/l.looks" | sort | uniq -d)"
check "looks: colours of Okabe and Ito, and grey" sh -c "! cut -d' ' -f2 '$work/l.looks' |
    grep -vE '^#(000000|e69f00|56b4e9|009e73|0072b2|d55e00|cc79a7|999999)\$'"
check "looks: null is dotted and grey" grep -qx 'null #999999 3 0' "$work/l.looks"
cut -d' ' -f1,2 "$work/l.looks" >"$work/l.colours"
cut -d' ' -f1,2 "$work/a.looks" >"$work/a.colours"
check "looks: the same colours in bars" diff "$work/l.colours" "$work/a.colours"
check "few of them, in another order" $bench --device cpu --allocator warp_best_fit \
    --allocator null --allocator bitmap --workload pairs --threads 32,64 -i 1 --repeats 1 \
    --json="$work/w.json" --csv="$work/w.csv"
$bench plot "$work/w.json" -o "$work/w.gp"
looks "$work/w.gp" "$work/w.csv" >"$work/w.looks"
check "looks: three" test "$(wc -l <"$work/w.looks")" = 3
check "looks: the same ones" test "$(comm -12 "$work/w.looks" "$work/l.looks" | wc -l)" = 3
check "keys" $bench --device cpu --allocator freelist --allocator freelist:threads_per_pool=8 \
    --workload pairs --threads 32,64 -i 1 --repeats 1 --json="$work/k.json" --csv="$work/k.csv"
$bench plot "$work/k.json" -o "$work/k.gp"
looks "$work/k.gp" "$work/k.csv" >"$work/k.looks"
check "looks: one colour whatever the keys" \
    test "$(cut -d' ' -f2 "$work/k.looks" | uniq -c | wc -l)" = 1
check "looks: other dashes and points" \
    test "$(cut -d' ' -f3 "$work/k.looks" | uniq -u | wc -l)" = 2

# ---- 800 pixels wide, letters of 9 points and more, names at the lines' ends ----
for chart in a b l; do
    $bench plot "$work/$chart.json" -o "$work/$chart.gp"
    check "$chart: as wide as a page" grep -q '^set terminal svg .*size 800,' "$work/$chart.gp"
    check "$chart: no small letters" sh -c "! grep -qE \"font '[^']*,[1-8]'\" '$work/$chart.gp'"
    check "$chart: axes with units" sh -c "! grep '^set ylabel' '$work/$chart.gp' |
        grep -vE '(Gop/s|Mop/s|percent of the pool used)'"
done
# ends CHART.gp: "panel height name" of the names at the ends of lines, in pixels; 202 is the height
ends() {
    awk -v q="'" '/^set title / { panel++ }
        / at graph 1\.0,/ { split($0, part, "graph 1.0,"); split(part[2], number, " ")
            split($0, name, q); print panel, 202 * number[1], name[2] }' "$1" |
        sort -k 1,1n -k 2,2n
}
ends "$work/b.gp" >"$work/b.ends"
check "ends: two of three fit, in four panels" test "$(wc -l <"$work/b.ends")" = 8
check "ends: a long name is in the legend only" sh -c "! grep -q freelist '$work/b.ends'"
check "ends: beside the value" awk '$1 == 1 && $3 == "bitmap" { n += $2 > 0 && $2 < 202 }
    END { exit n != 1 }' "$work/b.ends"
ends "$work/l.gp" >"$work/l.ends"
check "ends: of many some fit" test "$(wc -l <"$work/l.ends")" -ge 8
check "ends: none covers another" awk '$1 == panel && $2 - last < 10.9 { bad = 1 }
    { panel = $1; last = $2 } END { exit bad }' "$work/l.ends"
check "ends: bars have none" test -z "$(ends "$work/a.gp")"

# ---- the pictures of doc/ that have a script of their own follow the same rules ----
mkdir "$work/doc"
cp "$top_srcdir"/doc/*.gp "$top_srcdir"/doc/*.dat "$work/doc"
texts() { # PICTURE: what is written in it
    sed -n '/<text>/,/<\/text>/p' "$1" | sed 's/<[^>]*>//g; s/^[[:space:]]*//; /^$/d' | sort
}
for picture in coalesce loadstore; do
    gp=$work/doc/$picture.gp
    check "$picture: gnuplot draws it" sh -c "cd '$work/doc' && gnuplot $picture.gp"
    check "$picture: well formed" xmllint --noout "$work/doc/$picture.svg"
    texts "$work/doc/$picture.svg" >"$work/drawn"
    texts "$top_srcdir/doc/$picture.svg" >"$work/stored"
    check "$picture: the one in doc/ is of its script and figures" diff "$work/stored" "$work/drawn"
    check "$picture: as wide as a page" grep -q '^set terminal svg .*size 800,' "$gp"
    check "$picture: no small letters" sh -c "! grep -qE 'font \"[^\"]*,[1-8]\"' '$gp'"
    check "$picture: axes with units" grep -q '^set ylabel ".*, GB/s"' "$gp"
    check "$picture: colours" sh -c "! grep -o '#[0-9a-f]\{6\}' '$gp' | sort -u |
        grep -vE '^#(000000|e69f00|56b4e9|009e73|0072b2|d55e00|cc79a7|999999|666666|d8d8d8)\$'"
done
check "loadstore: no lines between shapes" sh -c "! grep -q linespoints '$work/doc/loadstore.gp' &&
    ! grep 'using 2:[4-7]' '$work/doc/loadstore.gp' | grep -q 'with lines'"
# the figures of the picture are those of the results
awk '/^[a-z]/ { print $1, $2, $3 }' "$work/doc/coalesce.dat" >"$work/figures"
sed -n 's/^ *"\([a-z0-9_]*\)": \[\([0-9]*\), \([0-9]*\), .*/\1 \2 \3/p' \
    "$top_srcdir"/doc/results/h200.json | sort >"$work/table"
check "coalesce: figures of seventeen kernels" test "$(wc -l <"$work/figures")" = 17
check "coalesce: all are in doc/results/h200.json" \
    test -z "$(sort "$work/figures" | comm -23 - "$work/table")"
texts "$work/doc/coalesce.svg" >"$work/drawn"
check "coalesce: factors over the bars" sh -c "grep -qx 8.1 '$work/drawn' &&
    grep -qx 20 '$work/drawn'"
check "coalesce: unchanged kernels, too" grep -qx 'left as they are' "$work/drawn"

# ---- objects: scopes and touch have panels of their own, the median can be the axis ----
check "medians" $bench --device cpu --allocator bitmap --allocator own_slot --workload objects \
    --scope warp,tile --median 100-400 --touch 1,0 -i 5 --repeats 1 --plot "$work/o.gp"
sed -n "s/^set title '\(objects.*\)' offset .*/\1/p" "$work/o.gp" >"$work/drawn"
cat >"$work/panels" <<EOD
objects, warp
objects, warp, untouched
objects, tile
objects, tile, untouched
EOD
check "objects: panels" diff "$work/panels" "$work/drawn"
check "objects: the axis" grep -q '^set xlabel "median bytes of an object"' "$work/o.gp"
check "medians and another workload" $bench --device cpu --allocator bitmap \
    --workload objects,pairs --median 100,200 -i 5 --repeats 1 --plot "$work/o.gp"
sed -n "s/^set title '\(.*\)' offset .*/\1/p" "$work/o.gp" >"$work/drawn"
cat >"$work/panels" <<EOD
objects, warp, 100 bytes an object
objects, warp, 200 bytes an object
pairs
EOD
check "objects: a panel for each median" diff "$work/panels" "$work/drawn"

sed 's/"cycles_per_op": null/"cycles_per_op": 123.0/' "$work/b.json" >"$work/f.json"
check "another figure" $bench plot "$work/f.json" --figure cycles -o "$work/f.svg"
check "its axis" grep -q '<text>cycles an operation, one block alone</text>' "$work/f.svg"
check "instead" sh -c "! grep -q 'op/s' '$work/f.svg'"

# ---- failures have a cross ----
awk '/"errors": 0,/ && ++n <= 2 { sub(/0,/, "3,") } { print }' "$work/b.json" >"$work/c.json"
check "plot draws failures" $bench plot "$work/c.json" -o "$work/c.svg"
check "two crosses" test "$(marks "$work/c.svg" 1)" = 2

# ---- an interrupted run: "not measured" is not the same as "n/a" ----
check "three allocators" $bench --device cpu --allocator thread_bitmap --allocator bitmap \
    --allocator null --workload pairs,handoff -i 1 --repeats 1 --json="$work/whole.json"
awk '/^    \{/ { row++ } row == 5 && /^    \}/ { print "    }\n  ]\n}"; exit } { print }' \
    "$work/whole.json" >"$work/cut.json"
check "plot draws five of six rows" $bench plot "$work/cut.json" -o "$work/cut.svg"
check "the sixth was not measured" \
    grep -q '<text>n/a: thread_bitmap; not measured: null<' "$work/cut.svg"
check "it says so" sh -c "tr '\\n' ' ' <'$work/cut.svg' | grep -q INTERRUPTED"
check "a whole run has nothing of that" sh -c "$bench plot '$work/whole.json' -o '$work/w.svg' &&
    grep -q '<text>n/a: thread_bitmap<' '$work/w.svg' && ! grep -q 'not measured' '$work/w.svg'"
check "what was measured has no cycles on the CPU" \
    $bench plot "$work/whole.json" --figure cycles -o "$work/w.svg"
check "they were not measured" \
    grep -q '<text>not measured: thread_bitmap, bitmap, null<' "$work/w.svg"

# ---- a file of results is text: it runs nothing, and moves no cursor ----
# evil MEMBER VALUE: the results with that value, as JSON has it, in the first row or the head
evil() {
    member="\"$1\": " value="\"$2\"," awk '
        index($0, ENVIRON["member"]) && !n++ { print ENVIRON["member"] ENVIRON["value"]; next }
        { print }' "$work/whole.json" >"$work/evil.json"
}
ran="touch $work/ran"
value="x'\\n!$ran\\nset title 'y\`$ran\`';system('$ran');#\\\" . system('$ran') . \\\""
value="$value\\u001b]0;y\\u009b"
for member in spec device command; do
    evil $member "$value"
    check "$member: a script" $bench plot "$work/evil.json" -o "$work/evil.gp"
    check "$member: gnuplot runs it" gnuplot "$work/evil.gp"
    check "$member: nothing else ran" test ! -e "$work/ran"
    check "$member: printed" grep -qF '\x0a!touch' "$work/evil.gp"
    check "$member: compared" $bench compare "$work/evil.json" "$work/whole.json"
    cat "$work/evil.gp" >>"$work/out"
    check "$member: no escapes" sh -c "! tr -d '\\n' <'$work/out' | grep -q '[[:cntrl:]]'"
done
for member in workload binding state; do
    evil $member "x'!sh"
    fails 2 "row 1 has the $member \"x'!sh\"; known:" $bench plot "$work/evil.json" \
        -o "$work/e.svg"
done
evil kind 'x\u001b[2J'
fails 2 'holds "x.x1b\[2J"' $bench plot "$work/evil.json" -o "$work/e.svg"
evil kind 'x\u202e' # reverses the direction of the text after it
fails 2 'holds "x.xe2.x80.xae"' $bench plot "$work/evil.json" -o "$work/e.svg"
sed 's/"threads": 64/"threads": 4294967360/' "$work/whole.json" >"$work/evil.json"
fails 2 '"threads" is missing or has another type' $bench plot "$work/evil.json" -o "$work/e.svg"

# ---- many rows: where each row is compared with each other one, they take minutes ----
$bench --device cpu --allocator null --workload pairs -i 1 --repeats 1 --json="$work/one.json" \
    >/dev/null
# rows NAME ROWS PANELS: one row with other threads, bytes and threads_per_pool each time
rows() {
    awk -v rows="$2" -v panels="$3" '
        /^    \{/ { on = 1 }
        !on { print }
        on { line[++n] = $0 }
        /^    \}/ { exit }
        END {
            for (i = 0; i < rows; i++) {
                for (k = 1; k <= n; k++) {
                    text = line[k]
                    if (text ~ /"threads":/) { text = "\"threads\": " 1 + i % 64 "," }
                    if (text ~ /"payload_bytes":/) { text = "\"payload_bytes\": " 16 + i % 60 "," }
                    if (text ~ /"threads_per_pool":/) {
                        text = "\"threads_per_pool\": " i % panels ","
                    }
                    print text (k == n && i + 1 < rows ? "," : "")
                }
            }
            print "]}"
        }' "$work/one.json" >"$work/$1.json"
}
draw() { $bench plot "$work/$1.json" -o "$work/$1.gp"; }
compare() { $bench compare "$work/$1.json" "$work/$1.json" >"$work/compared"; }
rows few 1600 120
rows many 12800 960
check_linear "12,800 rows drawn" draw
check "in 960 panels" test "$(grep -c '^set title' "$work/many.gp")" = 960
rows many 3200 1020
fails 1 'e.svg: needs 1020 panels; a chart has at most 1000' $bench plot "$work/many.json" \
    -o "$work/e.svg"
rows few 1500 1500
rows many 12000 12000
check_linear "12,000 rows compared" compare
check "all of them" grep -q '^# 12000 rows: 12000 same' "$work/compared"

# ---- other formats, and none ----
check "png" $bench plot "$work/b.json" -o "$work/b.png"
check "it is one" sh -c "head -c 4 '$work/b.png' | grep -q PNG"
check "a script" $bench plot "$work/b.json" -o "$work/d.gp"
check "gnuplot runs it" gnuplot "$work/d.gp"
check "the same chart" cmp "$work/b.svg" "$work/d.svg"
here=$PWD
fails 2 'gnuplot, which draws it, is not on PATH; .* package gnuplot-nox .* ends in .gp' \
    env PATH=/nonexistent "$here/shpool-bench" --plot "$work/e.svg"
check "and nothing was measured" test "$(wc -l <"$work/said")" = 2
check "a script needs no gnuplot" \
    env PATH=/nonexistent "$here/shpool-bench" plot "$work/b.json" -o "$work/e.gp"
fails 2 'e.jpg: a name that ends in .svg, .png or .pdf' $bench plot "$work/b.json" -o "$work/e.jpg"
fails 2 'none/e.svg: No such file' $bench plot "$work/b.json" -o "$work/none/e.svg"
fails 2 'none/e.svg: No such file' $bench --device cpu -i 1 --plot "$work/none/e.svg"
check "and nothing was measured" test "$(wc -l <"$work/said")" = 2
mkdir "$work/bin"
printf '#!/bin/sh\n' >"$work/bin/gnuplot"
chmod +x "$work/bin/gnuplot"
fails 1 'gnuplot did not draw it' \
    env PATH="$work/bin:$PATH" $bench plot "$work/b.json" -o "$work/e.svg"
printf '#!/bin/sh\n[ "$2" = --version ] && exit\necho half\nexit 3\n' >"$work/bin/gnuplot"
cp "$work/b.svg" "$work/e.svg"
fails 1 'gnuplot did not draw it (exit status 3)' \
    env PATH="$work/bin:$PATH" $bench plot "$work/b.json" -o "$work/e.svg"
check "the chart of before is still there" cmp "$work/b.svg" "$work/e.svg"
fails 2 '"cycle" is not a value of --figure (did you mean "cycles"?); known: gops, cycles, failed' \
    $bench plot "$work/b.json" -o "$work/e.svg" --figure cycle
fails 2 '-o FILE is missing, which names the chart' $bench plot "$work/b.json"
fails 2 'exactly one file of results is needed, got [02]' $bench plot -o "$work/e.svg"
fails 2 'a.csv: is not JSON' $bench plot "$work/a.csv" -o "$work/e.svg"
exit $failed
