#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The tools' commands: output and exit status.  In the build folder.  Exit: 0 or 1.
set -u
unset SHPOOL_ALLOCATOR SHPOOL_CACHE_BYTES SHPOOL_CACHE_DIR SHPOOL_DEVICE_ALLOCATOR
unset SHPOOL_LOG_LEVEL SHPOOL_PLUGIN_PATH
# shellcheck source=tests/build/checks.sh
. "$top_srcdir/tests/build/checks.sh"
out=$work/out
info=./shpool-info
bench=./shpool-bench
expect 0 '^usage' $info --help
expect 2 'missing' $info
expect 2 'info: "lists" is not a command (did you mean "list"?); known: list, show, .*link$' \
    $info lists
expect 2 '^try shpool-info --help$' $info lists
# what getopt_long() refuses, in every tool
expect 2 'shpool-info: unknown option "--jsno" (did you mean "--json"?)' $info list --jsno
expect 2 'shpool-info: unknown option "--nosuch"$' $info --nosuch list
expect 2 'shpool-info: --json takes no value' $info --json=1 list
expect 2 'shpool-info: unknown option "-x"$' $info -x list
expect 2 'overhead: unknown option "--byts" (did you mean "--bytes"?)' $info overhead --byts 4K
expect 2 'link: -o needs a value' $info link a_kernel -o
expect 2 'overhead: unknown option "--thrads" (did you mean "--threads"?)' \
    $info overhead --thrads=64
expect 2 'shpool-bench: unknown option "--alocator" (did you mean "--allocator"?)' \
    $bench --alocator null
expect 2 'shpool-bench: unknown option "-t" in "-threads" (did you mean "--threads"?)' \
    $bench -threads 64
expect 2 'shpool-bench: unknown option "-q"$' $bench -q
expect 2 'shpool-bench: "--s" may be --skip or --scope or --sigma' $bench --s 1
expect 2 'shpool-bench: --threads needs a value' $bench --threads
expect 2 'shpool-bench: --help takes no value' $bench --help=block
expect 2 'shpool-bench: -s needs a value' $bench -s
for command in compare loadstore map memory plot replay; do
    expect 2 "shpool-bench $command: unknown option \"--hlep\" (did you mean \"--help\"?)" \
        $bench $command --hlep
    expect 2 "^try shpool-bench $command --help$" $bench $command --hlep
done
expect 2 'shpool-bench compare: unknown option "-o"$' $bench compare -o
expect 2 'shpool-coalesce: unknown option "--nosuch"$' ./shpool-coalesce --nosuch
expect 2 'shpool-coalesce: unknown option "--blok" (did you mean "--block"?)' \
    ./shpool-coalesce lint --blok 32 k.ptx
expect 2 'shpool-coalesce: --block needs a value' ./shpool-coalesce lint k.ptx --block
expect 2 'shpool-coalesce: unknown option "--a\\x1b"$' \
    ./shpool-coalesce lint "$(printf -- '--a\033')"
expect 2 '"lnit" is not a command (did you mean "lint"?); known: lint, rewrite, nvcc, costs$' \
    ./shpool-coalesce lnit k.ptx
expect 0 '^selected' $info list
expect 0 'null' $info show null
expect 1 'known allocators' $info show nul
expect 0 'SHPOOL_ALLOCATOR (spec)' $info config
expect 0 'sm_86 *101376 *102400' $info archs
expect 0 'null *block *1 ' $info overhead --threads 64 --bytes 4K
expect 0 'blocks/SM' $info overhead --threads 64 --total 16K --arch 8.6
expect 0 'request_bytes is 4096, .*: threads_per_pool=64 or payload_bytes=32768 or spill=' \
    $info overhead --threads 256 --bytes 16K --request-bytes 4K
expect 0 '^usage' $info overhead --help
expect 2 'overhead: --threads is missing$' $info overhead --bytes 4K
expect 2 '--bytes, --total and --requests exclude each other; give one$' \
    $info overhead --threads 32 --bytes 4K --total 4K
expect 2 'overhead: --bytes, --total or --requests is missing$' $info overhead --threads 32
# 1,024 granules, and headers of 4 bytes that make each request one granule more
expect 0 'arena *group *1 *16432 *16400' $info overhead --threads 1 --requests 2x8K
expect 0 'freelist .* 16384 ' $info overhead --threads 1 --requests 2x8K
expect 0 'rbtree .* 16412 ' $info overhead --threads 1 --requests 2x8192
expect 0 'arena .* 3072 ' $info overhead --threads 1 --requests 3x1000@1024 --allocator arena
expect 0 'null .*serves no request' $info overhead --threads 1 --requests 1x1,2x3@64
for wrong in 2x 2 0x4 x4 2x8x 2x8@48 2x8@2K 2x8,; do
    expect 2 "requests .*COUNTxBYTES" $info overhead --threads 1 --requests $wrong
done
expect 2 '--threads x: a number from 1 to 1024 is needed' $info overhead --threads x --bytes 4K
expect 2 '--threads 0: a number from 1 to 1024' $info overhead --threads 0 --bytes 1K
expect 2 '--threads 2000: a number from 1 to 1024' $info overhead --threads 2000 --bytes 1K
expect 2 '--threads-per-pool 0: a number from 1 to 1024' \
    $info overhead --threads 64 --bytes 1K --threads-per-pool 0
expect 2 '--bytes 0: a number from 1 to 232448 is needed .*227 KiB at most.*K, M' \
    $info overhead --threads 64 --bytes 0
expect 2 '--total 4G: a number from 1 to 232448' $info overhead --threads 64 --total 4G
expect 2 '--alignment 48: a power of two from 16 to 1024 is needed$' \
    $info overhead --threads 64 --bytes 1K --alignment 48
expect 2 'sm_75, sm_80' $info overhead --threads 32 --bytes 4K --arch sm_60
expect 1 'known allocators' $info overhead --threads 32 --bytes 4K --allocator nobody
expect 0 '^usage' $info link --help
expect 2 "the kernel's file is missing" $info link --arch sm_90
expect 2 '--arch is missing' $info link a_kernel
expect 2 'unexpected argument another' $info link a_kernel another --arch sm_90
expect 2 'sm_75, sm_80' $info link a_kernel --arch sm_60
expect 1 'no_such_file cannot be read: No such file' $info link no_such_file --arch sm_90
expect 1 'known allocators' $info link "$0" --arch sm_90 --allocator nobody
expect 1 'no LTO-IR\|nvJitLink' $info link "$0" --arch sm_90 --allocator null
expect 0 'SHPOOL_CACHE_BYTES (number, in bytes)' $info config
expect 1 '^  invalid  SHPOOL_CACHE_BYTES "-1" is not a number of bytes.*K, M or G' \
    env SHPOOL_CACHE_BYTES=-1 $info config
expect 1 '^  invalid  SHPOOL_BINDING "tabel" is unknown, it takes table or linked' \
    env SHPOOL_BINDING=tabel $info config
expect 1 '^  invalid  SHPOOL_CACHE_DIR "here" does not begin with /' \
    env SHPOOL_CACHE_DIR=here $info config
expect 1 '^  invalid  .*did you mean "bins"' env SHPOOL_DEVICE_ALLOCATOR='log|bin' $info config
expect 1 '^  invalid  .*did you mean "bitmap"' env SHPOOL_ALLOCATOR=bitmpa $info config
expect 1 '^  invalid  SHPOOL_LOG_LEVEL "wran" is not a level (did you mean "warn"?)' \
    env SHPOOL_LOG_LEVEL=wran $info config
expect 0 '^usage' $bench --help
expect 2 'shpool-bench --help' $bench --nonsense
expect 2 '"blocks" is not a command (did you mean "block"?); known: block, compare' $bench blocks
expect 2 'unexpected argument "x"' $bench block x
expect 0 ' pairs ' $bench block --device cpu --allocator null --workload pairs -i 1
expect 0 ' pairs ' $bench --device cpu --allocator null --workload pairs -i 1
expect 0 'bitmap .* handoff .* 0$' \
    $bench --device cpu --allocator bitmap --workload handoff --threads 64 --bytes 16K -i 20
expect 0 'handoff .* n/a: ' \
    $bench --device cpu --allocator thread_bitmap --workload handoff -i 1
last=$($info list | sed -n 's/^[* ] \([a-z_]*\) .*/\1/p' | tail -1)
expect 1 "known allocators: .*$last\$" $bench --device cpu --allocator nobody
expect 2 '--bytes 32x: numbers from 16 to .* may end in K, M or G' $bench --bytes 32x
expect 0 ' 32768 ' $bench --device cpu --allocator null --workload pairs -i 1 --bytes 32k
expect 0 'null .* 0 ' $info overhead --threads 64 --bytes 32k
expect 1 'payload_bytes' env SHPOOL_ALLOCATOR=null:payload_bytes=4x $info list
expect 0 'selected: null' env SHPOOL_ALLOCATOR=null:payload_bytes=4k $info list
expect 0 '^usage: shpool-bench loadstore' $bench loadstore --help
expect 2 '--threads 128,x: numbers from 1 to 1024' $bench loadstore --threads 128,x
expect 2 '--type-bytes 32: numbers from 1 to 16' $bench loadstore --type-bytes 32
expect 2 '--type-bytes 3: elements have 1, 2, 4, 8 or 16 bytes, not 3$' \
    $bench loadstore --type-bytes 3
expect 2 '--values 0: numbers from 1 to 32' $bench loadstore --values 0
expect 2 '--values 4-33: numbers from 1 to 32' $bench loadstore --values 4-33
expect 2 '--bytes 5: a number from 1M' $bench loadstore --bytes 5
expect 2 '--repeats 3: a number from 9' $bench loadstore --repeats 3
expect 2 'unexpected argument "256"' $bench loadstore 256
expect 2 'shpool-bench loadstore --help' $bench loadstore --nonsense
expect 2 '"foo" is not a question.*; known: pair, threads, .*oom$' $bench memory foo
expect 2 '--limit abc: a number of bytes' $bench memory --limit abc
# shellcheck disable=SC2046
expect 2 '--allocator bins:slab=65M: at most 64 names' \
    $bench memory $(for i in $(seq 65); do echo "--allocator bins:slab=${i}M"; done)
quick='loadstore --bytes 1M --type-bytes 4 --function global_to_global'
# shellcheck disable=SC2086
if $bench $quick >/dev/null 2>&1; then
    expect 0 '^global_to_global  *automatic' $bench $quick
    expect 0 '^global_to_global,automatic,4,' $bench $quick --csv
    expect 0 "^# command: shpool-bench $quick --csv\$" $bench $quick --csv
    expect 0 '^# device: .* (sm_[0-9]*, [0-9]* SMs, CUDA driver ' $bench $quick --csv
    expect 0 '^# clocks: SM at most [1-9][0-9]* MHz, memory at most [1-9]' \
        $bench memory --allocator bins --repeats 1 --pairs 100 pair
else
    expect 1 'shpool-bench: loadstore needs a GPU: ' $bench $quick
fi
expect 1 'SHPOOL_ALLOCATOR "null:alignment=3": alignment is 3' \
    env SHPOOL_ALLOCATOR=null:alignment=3 $info list
expect 1 'SHPOOL_ALLOCATOR "null:alignment=3": alignment is 3' \
    env SHPOOL_ALLOCATOR=null:alignment=3 $bench --device cpu --workload pairs
expect 1 'SHPOOL_ALLOCATOR "null:check=1": .*has no checked mode' \
    env SHPOOL_ALLOCATOR=null:check=1 $bench --device cpu --workload pairs
expect 0 'shpool-bench: info: opened null' \
    env SHPOOL_LOG_LEVEL=info $bench --device cpu --allocator null --workload pairs -i 1
expect 0 'warning: .*SHPOOL_FOO' env SHPOOL_FOO=1 $info list
expect 1 'SHPOOL_LOG_LEVEL "foo"' env SHPOOL_LOG_LEVEL=foo $bench --device cpu --workload pairs -i 1
env SHPOOL_LOG_LEVEL=none SHPOOL_FOO=1 $info list 2>"$out" >/dev/null
if [ -s "$out" ]; then
    echo "FAIL a warning with SHPOOL_LOG_LEVEL=none"
    failed=1
fi
expect 0 '"allocators"' $info list --json
expect 0 '"archs"' $info archs --json
expect 0 '"unit"' $info config --json
expect 0 '"invalid": null' $info config --json
expect 1 '"invalid": "SHPOOL_CACHE_BYTES ' env SHPOOL_CACHE_BYTES=-1 $info config --json
expect 0 '"device_allocators"' $info device --json
expect 0 '"key": "hard",' $info device --json
expect 0 '"lto_ir"' $info show null --json
expect 0 '"plugin": null' $info show null --json
expect 0 '"pool_bytes"' $info overhead --threads 64 --bytes 4K --json
name=$($info list | sed -n 's/^. \([a-z_]*\) .*pool.*/\1/p' | grep -v null | head -1)
[ -z "$name" ] ||
    expect 1 '"error"' $info --json overhead --threads 64 --bytes 227K --allocator "$name"
expect 0 '"seed": 4294967295' $bench --device cpu --allocator null --workload pairs -i 1 \
    --json -s 4294967295
expect 0 '"rows"' $bench --device cpu --allocator null --workload pairs -i 1 --json
exit $failed
