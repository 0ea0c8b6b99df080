#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# From a recording to a choice and a picture, as doc/TRACE.md tells it, on the executor.
#
#   top_builddir   build folder, with shpool-bench [.]
#
# Prints one PASS or FAIL line for each step.  Exit: 0; 1.
set -u
unset SHPOOL_ALLOCATOR SHPOOL_CACHE_DIR SHPOOL_DEVICE_ALLOCATOR SHPOOL_LOG_LEVEL
unset SHPOOL_PLUGIN_PATH
bench=${top_builddir:-.}/shpool-bench
bench=$(realpath "$bench")
# shellcheck source=tests/build/checks.sh
. "${top_srcdir:-.}/tests/build/checks.sh"
mkdir "$work/here" && cd "$work/here" || exit 1
# a picture is its data here; tests/tools/plot.sh draws
mkdir bin && printf '#!/bin/sh\nexec cat <&3\n' >bin/python3 && chmod +x bin/python3
PATH=$PWD/bin:$PATH

record() # SPEC
{
    expect 0 ' mixed ' "$bench" block --device cpu --workload mixed --threads 64 --bytes 16K \
        -i 20 --allocator "$1"
}

record bitmap:trace=t,trace_blocks=1
expect 0 '^shpool-trace 3$' cat t
expect 0 'fewest bytes, speed not measured: SHPOOL_ALLOCATOR=[a-z_]*:total_bytes=[0-9]' \
    "$bench" replay --device cpu t
cp "$work/out" ranking

# the first row needs the fewest bytes, and the line below the table names it
best=$(awk '$1 == 1 { print $6; exit }' ranking)
least=$(awk '$1 ~ /^[0-9]+$/ && $6 > 0 { print $6 }' ranking | sort -n | head -n 1)
spec=$(sed -n 's/^fewest bytes, speed not measured: SHPOOL_ALLOCATOR=//p' ranking)
expect 0 "" test "$best" -eq "$least"
expect 0 "total_bytes=$best\$\\|total_bytes=$best," echo "$spec"

# equal failures and blocks: one rank, that of its first row; more blocks come first
awk '$1 ~ /^[0-9]+$/ && $6 > 0 {
        n++
        want = (n > 1 && $5 == failed && $7 == blocks) ? want : n
        if ($1 != want || (n > 1 && $7 > blocks)) exit 1
        failed = $5
        blocks = $7
        ranks[$1]++
    }
    END { if (n < 5 || ranks[1] < 2 || ranks[1] == n) exit 1 }' ranking
expect 0 '' test $? -eq 0
equal=$(awk '$1 ~ /^[0-9]+$/ && (!n || $7 == blocks) { n++; blocks = $7 }
    END { print n }' ranking)
expect 0 "^speed is not known without a GPU: the first $equal rows are equal in blocks/SM" \
    cat ranking

# with those bytes nothing fails, with 64 fewer something does
name=${spec%%:*}
expect 0 "^ *1 $name  *64  *1  *0  *$best " "$bench" replay --device cpu --allocator "$name" \
    --threads-per-pool 64 --bytes "$best" t
expect 0 "^ *1 $name  *64  *1  *[1-9][0-9]*  *$best " "$bench" replay --device cpu \
    --allocator "$name" --threads-per-pool 64 --bytes $((best - 64)) t

expect 0 '' "$bench" map t --svg map.svg
expect 0 '^\["m","thread [0-9]*",' cat map.svg
expect 0 '' "$bench" map t --svg part.svg --from 10 --to 20 --color size
expect 1 'no records of block 7' "$bench" map t --svg none.svg --block 7
expect 1 '[1-9] runs of block 0' "$bench" map t --svg none.svg --run 99
expect 1 'No such file' "$bench" map t --svg nowhere/map.svg
expect 2 'map: --svg FILE is missing' "$bench" map t
for files in '' 't t'; do
    count=$(echo $files | wc -w)
    expect 2 "replay: exactly one trace file is needed, got $count$" "$bench" replay $files
    expect 2 "advise: exactly one trace file is needed, got $count$" "$bench" advise $files
    expect 2 "map: exactly one trace file is needed, got $count$" "$bench" map $files --svg m.svg
done
expect 2 'ends in .svg is needed' "$bench" map t --svg t
ln -s t t.svg
expect 2 'this is the trace t itself' "$bench" map t --svg t.svg
expect 0 '^shpool-trace 3$' cat t

# several geometries, a pool that cannot be, a trace from a pipe
expect 0 '' "$bench" replay --device cpu --allocator freelist --threads-per-pool 8,16 t
expect 0 '^8 16 $' echo "$(awk '/ freelist / { print $3 }' "$work/out" | sort -n | tr '\n' ' ')"
expect 0 'no such pool: 16 bytes are too few' "$bench" replay --device cpu --allocator bitmap \
    --bytes 16 t
expect 0 'fewest bytes' sh -c "cat t | '$bench' replay --device cpu --allocator bitmap /dev/stdin"

# groups: one call each; they cannot free memory that does not belong to any of their lanes
sed -e '1s/1$/2/' -e 's/^\(block .* records \).*/\13 dropped 0/' -e '/^block /q' t >groups
printf 'm 0+31 0x40 256 256 16 0\nm 0+63 0x400 1024 1024 16 0\nf 8+7 0x40 0 0\nend 1\n' >>groups
expect 0 '^# 3 calls of groups' "$bench" replay --device cpu --allocator bitmap groups
expect 0 'lanes 8-15 of warp 0 frees or resizes what warp 0 has' "$bench" replay --device cpu \
    --allocator thread_bitmap groups
expect 0 '' "$bench" map groups --svg groups.svg
expect 0 '"the block",0,64,1,1024,' cat groups.svg

# advice: the choice serves the recording, others are in JSON
expect 0 '^SHPOOL_ALLOCATOR=[a-z_]*:total_bytes=[0-9]' "$bench" advise t
cp "$work/out" advice
expect 0 'registers are not known' cat advice
expect 0 'no times: recorded on the executor' cat advice
expect 0 'requests do not wait' cat advice
spec=$(sed -n 's/^SHPOOL_ALLOCATOR=//p' advice)
bytes=$(echo "$spec" | sed 's/.*total_bytes=\([0-9]*\).*/\1/')
share=$(awk '$1 == 1 { print $3; exit }' advice)
expect 0 "^ *1 ${spec%%:*}  *$share  *[0-9]*  *0 " "$bench" replay --device cpu \
    --allocator "${spec%%:*}" --threads-per-pool "$share" --bytes "$bytes" t
expect 0 '' sh -c "awk '\$1 ~ /^[0-9]+\$/ { if (n++ && \$10 < last - 0.02) exit 1; last = \$10 }
    END { exit n < 5 }' advice"
expect 0 '^ *1 bitmap ' "$bench" advise --allocator bitmap --registers 255 t
cp "$work/out" advice
expect 0 '^# 255 registers: at most 4 blocks' cat advice
expect 0 '"kind": "shpool-bench advise"' "$bench" advise --json t
cp "$work/out" advice
expect 0 '"payload_bytes": [0-9]' cat advice

# a large grid has blocks that need more than the recorded ones
choices() # GRID
{
    sed "s/ grid [0-9]*/ grid $1/" t >grid
    "$bench" advise --json --allocator warp_best_fit grid | grep -c '"spec"'
}
expect 0 '' test "$(choices 1000000)" -lt "$(choices 1)"

# the times of a pool with a lock
sed -e 's/^allocator .*/allocator warp_first_fit/' -e '/^[mf] /s/$/ @5/' t >locked
expect 0 '^# the times contain waits for the lock of warp_first_fit: record with bitmap' \
    "$bench" advise --allocator planes locked

# drops are reported, immediately and later
record bitmap:trace=drops,trace_bytes=4K,trace_blocks=1
cp "$work/out" messages
expect 0 'records did not fit and were dropped' cat messages
expect 0 'records were dropped' "$bench" replay --device cpu --allocator bitmap drops

# traces that cannot be written: no partial file is left, and a FIFO without a reader does not hang
expect 0 'trace=cut: File too large' sh -c "{ trap '' XFSZ; ulimit -f 1
    '$bench' block --device cpu --workload mixed --allocator bitmap:trace=cut; } 2>&1 | cat"
expect 0 '' test -e cut -a ! -s cut
mkfifo fifo
expect 1 'trace=fifo: is a FIFO that no program reads' timeout 300 "$bench" block --device cpu \
    --workload pairs -i 1 --allocator bitmap:trace=fifo

# traces that cannot be read
record bitmap:trace=whole
head -c 20000 whole >half
: >empty
expect 1 'half, .*cut off' "$bench" replay half
expect 1 'half, .*cut off' "$bench" advise half
expect 1 'empty: is empty' "$bench" advise empty
expect 1 ': is a directory' "$bench" advise .
expect 1 'empty: is empty' "$bench" map empty --svg none.svg
expect 1 ': is a directory' "$bench" replay .
echo '#!/bin/sh' >script
echo 'exit 0' >>script
expect 1 'not a trace of shpool' "$bench" replay script
expect 1 'not a trace of shpool' "$bench" advise script
sed -e 's/^\(block .* records \).*/\11 dropped 0/' -e '/^block /q' t >large
echo 'm 0 - 4000000000 0 16 0' >>large
echo 'end 1' >>large
expect 1 'no pool of sm_90 serves these requests' "$bench" advise large
# a producer of stages: its attempts are repeated, and it frees only when it must
sed -e 's/^pool_bytes .*/pool_bytes 131072/' -e 's/^largest .*/largest 131000/' \
    -e 's/^\(block .* records \).*/\15 dropped 0/' -e '/^block /q' t >stages
printf 'w 0+31 %s 50000 50000 16 0\n' 0x0 0xc380 - | sed '/ - /s/50000 16/0 16/' >>stages
printf 'f 0+31 %s 0 0\n' 0x0 0xc380 >>stages
echo 'end 1' >>stages
expect 0 '^# 1 request failed$' "$bench" advise stages
expect 1 'no pool of sm_75 .*: record with the pool that you consider' \
    "$bench" advise --arch sm_75 stages
sed -e 's/^\(block .* records \).*/\10 dropped 9/' -e '/^block /q' t >nothing
echo 'end 1' >>nothing
expect 1 'no pool of sm_90 serves' "$bench" advise nothing
rm nothing
expect 1 'No such file' "$bench" replay nothing
expect 1 'did you mean "bitmap"' "$bench" replay --device cpu --allocator bitmop t
expect 1 'unknown key "check1".* "check"' "$bench" replay --device cpu --allocator bitmap:check1=1 t
cp "$work/out" messages
expect 1 '' grep '^#' messages
expect 2 'known ones' "$bench" replay --arch sm_1 t
expect 2 'known ones' "$bench" advise --arch sm_1 t
expect 2 'did you mean "bitmap"' "$bench" advise --allocator bitmop t
expect 0 '^usage' "$bench" advise --help
expect 0 '^usage' "$bench" replay --help
expect 0 '^usage' "$bench" map --help
exit $failed
