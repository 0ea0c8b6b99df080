#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# sass.sh [libshpool_device.a]: the machine code of kernels, of allocators and of after.h.  No GPU,
# no cuobjdump needed.  Prints PASS or FAIL for each check.  Exit: 0; 1: some failed; 77: no nvcc.
#
#   NVCC         [nvcc]
#   sass_archs   architectures [75,80,90,100,120]
#   sass_bitmaps further ones, of bitmap and cluster_bitmap alone: these come closest
#                to the limits [none]
#   allocators   names [all of allocators/list]
#
# malloc and free of a plain pool have no stack frame, with these exceptions.  A called function may
# use 16 registers that it need not save; what it needs beyond them it saves:
#   bitmap, thread_bitmap           malloc and free: up to 16 bytes; cluster_bitmap's free on
#                                   sm_90: 32
#   bitmap, for long runs           search and claim: up to 32; the first lane of a group that
#                                   frees: 32
#   bitmap, where the home word     up to 64, also for the first lane of a group; a request that
#   has no room                     cluster_bitmap serves from another block: on sm_90 72
#   bitmap, for a group             up to 128; the exact search of a warp (malloc_warp): 64, on
#                                   sm_75 and sm_80 112
#                                   A row of free pairs (malloc_row): 48, on sm_75 and sm_80 112
#   rbtree                          malloc: two registers on sm_100 and later
#   planes                          malloc, free: 24; beyond home, resize: 56; of a warp: 112
#   impl/heap/tags_batch.h          up to 80 bytes, once a call of the whole warp
# Functions that are called less often may save up to 32 bytes.  The counted functions (stats=1,
# check=1) do several things in one call: up to 112 bytes; fini, once a block: 96.  Spilling takes
# locks, calls CUDA's own malloc and writes records: up to 80, the registers that its caller wants
# to have kept; the functions that write a record of a trace: 48.
#
# Registers and stack frames come from the cubin itself: section .nv.info holds records of three
# words, 0x00082f04 (register count) or 0x00081104 (frame size), symbol index, value.  (Before sm_90
# the top byte of a .text section's sh_info has the register count, too; later it has not.)
[ -n "${BASH_VERSION-}" ] || exec bash "$0" ${1+"$@"} # make's shell may be another one
set -u
export LC_ALL=C

here=$(cd "$(dirname "$0")" && pwd)
src=$(cd "${top_srcdir:-$here/../..}" && pwd)
archive=${1:+$(realpath "$1")}
NVCC=${NVCC-nvcc} # empty: built without CUDA
most_registers=32
table_flags=-maxrregcount=32 # as m4/nvcc.mk

[ -n "$NVCC" ] && command -v "${NVCC%% *}" >/dev/null 2>&1 || {
    echo "skipped: no nvcc ($NVCC)"
    exit 77
}
command -v readelf >/dev/null 2>&1 || { echo "skipped: no readelf"; exit 77; }

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1

allocators=${allocators:-$(sed -n 's/^\([a-z][a-z0-9_]*\).*/\1/p' "$src/allocators/list")}
one=$(for n in $allocators; do [ $n != arena ] || echo $n; done) # of short code, for after.h
inlines=$(for n in $allocators; do case $n in null | native) ;; *) echo $n;; esac; done)
mkdir -p include/shpool
ln -s "$src/allocators" include/shpool/allocators
flags="-std=c++17 -I$src/include -I$scratch/include -I$src/tests/gpu -Xptxas -v"
keep="--keep --keep-dir ." # leaves the PTX of SOURCE.cu in SOURCE.ptx: half the time of two runs

# ---- the sources ----
cat >kernel.cu <<'EOF'
#ifdef WITH_AFTER
#include <shpool/after.h>
#endif
#define BINDING_KERNEL sass_more
#include "binding_kernel.cuh"
EOF
# The smallest kernel with a pool: the rest of its code is shpool's.
cat >least.cu <<'EOF'
#include <shpool/shpool.cuh>
extern "C" __global__ void
#ifdef BOUNDS
__launch_bounds__(1024, 2)
#endif
sass_kernel(shpool_pool pool, uint32_t *out)
{
    extern __shared__ __align__(16) unsigned char smem[];
    shpool_heap heap = shpool_init(&pool, smem);
    void       *ptr  = shpool_malloc(heap, 48);

    out[threadIdx.x] = (ptr != NULL);
    shpool_free(heap, ptr);
    shpool_fini(heap);
}
EOF
printf '#include "kernel.cu"\n#include "least.cu"\n' >both.cu # both in one run of nvcc
# What a warp requests: ptxas chooses the registers of the functions that the kernel calls.
cat >warps.cu <<'EOF'
#include <shpool/shpool.cuh>
extern "C" __global__ void sass_kernel(shpool_pool pool, size_t bytes, uint32_t *out)
{
    extern __shared__ __align__(16) unsigned char smem[];
    shpool_heap heap = shpool_init(&pool, smem);
    void       *ptr  = shpool_malloc_warp(heap, bytes);
    void       *tile = shpool_aligned_malloc_warp(heap, 128, bytes);

    out[threadIdx.x] = (ptr != NULL) + (tile != NULL);
    shpool_free_warp(heap, ptr);
    shpool_free_warp(heap, tile);
    shpool_fini(heap);
}
EOF
# Memory that copies still read when it is freed.
cat >after.cu <<'EOF'
#include <shpool/after.h>
#include <shpool/shpool.cuh>
extern "C" __global__ void sass_kernel(shpool_pool pool, float *out, unsigned rows)
{
    extern __shared__ __align__(16) unsigned char smem[];
    shpool_heap  heap  = shpool_init(&pool, smem);
    shpool_after after = shpool_after_init(heap, 4);

    for (unsigned i = threadIdx.x; i < rows; i += blockDim.x) {
        float *tile = (float *)shpool_after_malloc(&after, 64);

        for (unsigned k = 0; (tile != NULL) && (k < 16); k++) {
            tile[k] = (float)(i + k);
        }
        simt_fence_async();
        if (tile != NULL) {
            simt_copy_async_out(out + 16 * i, simt_to_shared(tile), 64);
        }
        shpool_free_after_group(&after, tile);
    }
    shpool_after_fini(&after);
}
EOF
# cuda_memory's names over global memory, whose shares have such a lock, too
cat >glob.cu <<'EOF'
#include <shpool/compat/cuda_memory.cuh>
extern "C" __global__ void sass_kernel(void *heap, size_t bytes, void **out)
{
    glob_pool::pool_init(heap, bytes);
    glob_pool::pfree(out[threadIdx.x]);
    out[threadIdx.x] = (bytes % 3 == 0) ? glob_pool::pmalloc(bytes / 7)
                                        : glob_pool::pmalloc_best_fit(bytes / 7);
}
EOF
cat >join.c <<'EOF'
#include <nvJitLink.h>
#include <stdio.h>
#include <stdlib.h>
/* join ARCH OUT IN...: LTO-IR to a cubin, as shpool_link() does it */
int main(int argc, char **argv)
{
    char arch[32];
    const char *options[] = { arch, "-lto" };
    nvJitLinkHandle handle;
    size_t bytes = 0;
    void *cubin;
    FILE *file;
    int i;

    snprintf(arch, sizeof(arch), "-arch=sm_%s", argv[1]);
    if (nvJitLinkCreate(&handle, 2, options) != NVJITLINK_SUCCESS) {
        return 1;
    }
    for (i = 3; i < argc; i++) {
        if (nvJitLinkAddFile(handle, NVJITLINK_INPUT_LTOIR, argv[i]) != NVJITLINK_SUCCESS) {
            return 1;
        }
    }
    if ((nvJitLinkComplete(handle) != NVJITLINK_SUCCESS) ||
        (nvJitLinkGetLinkedCubinSize(handle, &bytes) != NVJITLINK_SUCCESS)) {
        char *log;

        nvJitLinkGetErrorLogSize(handle, &bytes);
        log = calloc(1, bytes + 1);
        nvJitLinkGetErrorLog(handle, log);
        fprintf(stderr, "%s\n", log);
        return 1;
    }
    cubin = malloc(bytes);
    if (nvJitLinkGetLinkedCubin(handle, cubin) != NVJITLINK_SUCCESS) {
        return 1;
    }
    file = fopen(argv[2], "wb");
    return (file == NULL) || (fwrite(cubin, 1, bytes, file) != bytes) || (fclose(file) != 0);
}
EOF
cuda=$(dirname "$(dirname "$(command -v "${NVCC%% *}")")")
libdir=${cuda_libdir:-$cuda/lib64}
nvlink=$(dirname "$(command -v "${NVCC%% *}")")/nvlink
join=
if ${CC:-cc} -I"$cuda/include" -o join join.c -L"$libdir" -Wl,-rpath,"$libdir" -lnvJitLink \
    >join.log 2>&1; then
    join=./join
fi

# ---- helpers; each prints lines that the end counts ----
result() # 0|1 text...
{
    if [ "$1" -eq 0 ]; then shift; echo "PASS $*"; else shift; echo "FAIL $*"; fi
}

# build TEXT ARGUMENTS...: nvcc with a log; 1 and a FAIL if it does not compile
build()
{
    build_text=$1
    shift
    if ! $NVCC $flags "$@" >nvcc.log 2>&1; then
        result 1 "$build_text does not compile: $(grep -m1 -i error nvcc.log)"
        return 1
    fi
}

# clean TEXT: no function in the log of the last build has spills, local memory or a stack frame
# larger than its kind of function may have
clean()
{
    clean_bad=$(awk -v arch="${1%% *}" '
        BEGIN { old = (arch == "sm_75" || arch == "sm_80") }
        /Function properties for/ { name = $NF }
        /bytes stack frame/ {
            most = (name ~ /shpool_(image_)?(un)?spill/) ? 80 : \
                   (name ~ /shpool_counted_.*_fini/) ? 96 : \
                   (name ~ /shpool_counted_/) ? 112 : \
                   (name ~ /shpool_trace_(take|put)/) ? 48 : \
                   (name ~ /_planes_(malloc|free|free_rest)E/) ? 24 : \
                   (name ~ /_planes_(malloc_away|usable|resize)E/) ? 56 : \
                   (name ~ /_planes_(malloc_group|malloc_warp|free_group)E/) ? 112 : \
                   (name ~ /_(resize|owns|usable|largest|walk)E/) ? 32 : \
                   (name ~ /_rbtree_mallocE/) ? 16 : \
                   (name ~ /_bitmap_(claim_run|seek_far|seek_from|free_lead)E/) ? 32 : \
                   (name ~ /_bitmap_(malloc_(away|far|lead|run|try)|free_away|seek)E/) ? 64 : \
                   (name ~ /_bitmap_malloc_borrowE/) ? (arch == "sm_90" ? 72 : 64) : \
                   (name ~ /_cluster_bitmap_freeE/) ? (arch == "sm_90" ? 32 : 16) : \
                   (name ~ /_bitmap_(malloc|free)E/) ? 16 : \
                   (name ~ /_bitmap_malloc_warpE/) ? (old ? 112 : 64) : \
                   (name ~ /_bitmap_malloc_rowE/) ? (old ? 112 : 48) : \
                   (name ~ /_bitmap_(malloc_group|free_group)E/) ? 128 : \
                   (name ~ /_bitmap_(clear_on|free_call)E/) ? 64 : \
                   (name ~ /_warp_[a-z]*_fit_(malloc|free)E/) ? 80 : 0
            if ($1 + 0 > most || (most == 0 && ($5 + 0 > 0 || $9 + 0 > 0))) {
                print name ":" $0
            }
        }
        /lmem/ { print }' nvcc.log | tr -s ' ' | sed 's/bytes //g' | paste -sd';')
    [ -z "$clean_bad" ] && grep -q 'bytes stack frame' nvcc.log
    result $? "$1: stack frames, spills${clean_bad:+ -- $clean_bad}"
}

# most_inlined NAME: registers of a kernel that it was inlined into; they come in eights
most_inlined()
{
    case $1 in
    cluster_bitmap) echo 48 ;; # two searches: the own block's and the neighbours'
    *) echo 40 ;;
    esac
}

# registers CUBIN: lines "name registers frame"
registers()
{
    set -- "$1" $(readelf -SW "$1" 2>/dev/null | sed 's/\[ */[/' |
        awk '$2 == ".nv.info" {print $5, $6}')
    [ $# -eq 3 ] || return 1
    {
        readelf -sW "$1" 2>/dev/null | awk '$1 ~ /^[0-9]+:$/ {sub(":", "", $1); print "S", $1, $8}'
        od -An -v -tu4 -w4 -j $((16#$2)) -N $((16#$3)) "$1" | awk '{print "W", $1}'
    } | awk '
        $1 == "S" { name[$2] = $3 }
        $1 == "W" { word[n++] = $2 }
        END {
            for (i = 0; i < n;) {
                if (word[i] % 256 != 4) { i++; continue }
                if (word[i] == 536324) { count[word[i + 1]] = word[i + 2] }  # 0x00082f04
                if (word[i] == 528644) { frame[word[i + 1]] = word[i + 2] }  # 0x00081104
                i += 1 + int((int(word[i] / 65536) + 3) / 4)
            }
            for (s in count) { print name[s], count[s], frame[s] + 0 }
        }'
}

# kernel_registers CUBIN: of the kernel that needs most, without sass_more; flags may hide a name
kernel_registers()
{
    registers "$1" | awk '$1 != "sass_more" && $2 > most { most = $2 } END { print most + 0 }'
}

# lock_stays PTX: no lane leaves the loop that takes a lock (impl/heap/group_lock.h) before it has
# released the lock.  If one did, the lanes without the lock would go straight back to the
# compare-and-swap: the first conditional branch after it would lead backwards.  Otherwise they meet
# the others first.
lock_stays()
{
    awk '
        /^\$L__BB[0-9_]+:/ { sub(":.*", "", $1); at[$1] = NR }
        /atom\.acquire\.(cta\.shared|gpu\.global)\.cas\.b32/ { cas = NR }
        cas && /@!?%p[0-9]+[ \t]+bra/ {
            target = $NF
            sub(";", "", target)
            if (target in at && at[target] < cas) { print "line " NR " goes back to " target }
            cas = 0
        }' "$1"
}

# lock_check TEXT ALLOCATOR PTX: the same, of an allocator with such a lock
lock_check()
{
    if grep -Eq 'impl/heap/(group_lock|tags_batch)\.h' "$src/allocators/$2/$2.h"; then
        found=$(lock_stays "$3")
        [ -z "$found" ]
        result $? "$1: a lock's critical section is inside its loop $found"
    fi
}

# the loads, stores and atomics of a PTX text that name no state space
generic='^[[:space:]]*(@!?%p[0-9]+ )?(ld|st|atom|red)(\.[a-z0-9_:]+)*[[:space:]]'
spaces='\.(shared|param|global|const|local)'

one_arch()
{
    a=$1
    arch=sm_$a
    dir=$scratch/$a
    mkdir "$dir"
    cd "$dir" || return
    [ -n "$join" ] && ln -s ../join join

    # -- function table: kernels; what is not of an allocator is looked at once --
    if [ $whole = 1 ] && build "$arch table" -arch=$arch -rdc=true -cubin -o table.cubin ../both.cu
    then
        clean "$arch table"
        r=$(registers table.cubin | awk '$2 > most { most = $2 } END { print most + 0 }')
        v=$(awk '/Used [0-9]+ reg/ && $5 > most { most = $5 } END { print most + 0 }' nvcc.log)
        [ "$v" -gt 0 ] && [ "$r" = "$v" ]
        result $? "$arch table: the cubin says $r registers, ptxas $v"
        [ "$r" -le $most_registers ]
        result $? "$arch table: $r registers, at most $most_registers"
    fi

    # -- function table: allocators --
    objects=
    for n in $allocators; do
        cu="-DSHPOOL_MODULE=$n $src/lib/cuda/module.cu"
        # several words
        # shellcheck disable=SC2086
        if build "$arch $n" $keep $table_flags -arch=$arch -rdc=true -cubin -o $n.cubin $cu
        then
            clean "$arch $n"
            over=$(registers $n.cubin | awk -v most=$most_registers '$2 > most {
                sub(/.*_cu_[0-9a-f]*shpool_/, "shpool_", $1); sub(/E[0-9]*shpool_view.*/, "", $1)
                print $1 " " $2 }' | sort | paste -sd';')
            count=$(registers $n.cubin | wc -l)
            [ -z "$over" ] && [ "$count" -ge 11 ]
            result $? \
                "$arch $n: $count functions within $most_registers registers ${over:+-- $over}"
            # the counted functions, and spilling, reach global memory through generic pointers
            found=$(awk '
                /^\.(visible |weak |extern )?(\.)?func|^\.func|\.entry/ {
                    f = $0; getline g; f = f g; gsub("\t", " ", f)
                }
                { print f "\t" $0 }' module.ptx |
                    grep -vE 'counted|trace|spill|refuse|native' | cut -f2- | grep -E "$generic" |
                    grep -vE "$spaces" | head -3 | paste -sd';')
            [ -s module.ptx ] && [ -z "$found" ]
            result $? "$arch $n: plain functions name their memory${found:+ -- $found}"
            lock_check "$arch $n" $n module.ptx
        fi
        objects="$objects $n.cubin"
    done

    for n in image image_calls image_spill; do
        if build "$arch $n.cu" $table_flags -arch=$arch -rdc=true -cubin -o $n.cubin \
            "$src/lib/cuda/$n.cu" && [ $n != image ]; then # that has a variable and no function
            clean "$arch $n.cu"
        fi
        objects="$objects $n.cubin"
    done

    # -- a block of 1,024 threads, whose kernel says nothing of its size --
    for n in $inlines; do
        case $n in bitmap | planes) ;; *) continue ;; esac # those with functions for groups
        if build "$arch warps, $n inline" -DSHPOOL_INLINE=$n -arch=$arch -rdc=true -cubin \
            -o warps_$n.cubin ../warps.cu; then
            r=$(kernel_registers warps_$n.cubin)
            [ "$r" -gt 0 ] && [ "$r" -le 64 ]
            result $? "$arch warps, $n inline: $r registers, 1,024 threads may have 64"
        fi
    done

    # -- two blocks of 1,024 threads on a multiprocessor that has 2,048 --
    case $a in
    80 | 90 | 100)
        if build "$arch bounded kernel" -DBOUNDS -arch=$arch -rdc=true -cubin -o bounded.cubin \
            ../least.cu; then
            clean "$arch bounded kernel"
            $nvlink -arch=$arch -o bounded_linked.cubin bounded.cubin ${archive:-$objects} \
                "-L$libdir" -lcudadevrt >link.log 2>&1
            result $? "$arch a kernel of __launch_bounds__(1024, 2) links" \
                "with $(basename "${archive:-the objects}")" \
                "$(grep -om1 'calls function.*' link.log)"
        fi
        ;;
    esac

    # -- inline, and joined at run time --
    build "$arch linked_plain.cu" -arch=$arch -rdc=true -dlto -ltoir -o linked_plain.ltoir \
        "$src/lib/cuda/linked_plain.cu"
    build "$arch linked kernel" -DSHPOOL_LINKED -arch=$arch -rdc=true -dlto -ltoir \
        -o least.ltoir ../least.cu
    for n in $inlines; do
        if build "$arch inline $n" $keep -DSHPOOL_INLINE=$n -arch=$arch -cubin \
            -o inline_$n.cubin ../both.cu
        then
            clean "$arch inline $n"
            plain=$(kernel_registers inline_$n.cubin)
            [ "$plain" -le $(most_inlined $n) ]
            result $? "$arch inline $n: $plain registers"
            found=$(sed '/^\.visible \.entry sass_more/,/^}/d' both.ptx | grep -E "$generic" |
                grep -vE "$spaces" | head -3 | paste -sd';') # what is allocated may be anywhere
            [ -s both.ptx ] && [ -z "$found" ]
            result $? "$arch inline $n: every access names its memory${found:+ -- $found}"
            lock_check "$arch inline $n" $n both.ptx
        fi
        if [ -z "$join" ]; then
            echo "SKIP $arch linked $n: no libnvJitLink"
            continue
        fi
        if build "$arch $n LTO-IR" -DSHPOOL_LINKED_MODULE -DSHPOOL_MODULE=$n -arch=$arch \
            -rdc=true -dlto -ltoir -o $n.ltoir "$src/lib/cuda/module.cu"; then
            ./join $a linked_$n.cubin least.ltoir $n.ltoir linked_plain.ltoir >link.log 2>&1
            joined=$?
            result $joined "$arch linked $n: joined with the kernel $(head -1 link.log)"
            [ $joined -eq 0 ] || continue
            left=$({ readelf -sW linked_$n.cubin; readelf -rW linked_$n.cubin; } 2>/dev/null |
                grep -c shpool_linked_)
            [ "$left" -eq 0 ]
            result $? "$arch linked $n: no call of a shpool_linked_ function is left ($left)"
            r=$(kernel_registers linked_$n.cubin)
            # it has the branch to spilling that inlining leaves out; registers come in eights
            [ "$r" -gt 0 ] && [ "$r" -le $((plain + 8)) ] && [ "$r" -le $(most_inlined $n) ]
            result $? "$arch linked $n: $r registers, inline $plain"
            stack=$(registers linked_$n.cubin | awk '{ s += $3 } END { print s + 0 }')
            [ "$stack" -eq 0 ]
            result $? "$arch linked $n: $stack B of stack"
        fi
    done

    # -- after.h costs nothing where it is not used, and its queue lies in registers --
    if [ $whole = 1 ] && [ -n "$one" ]; then
        for with in '' -DWITH_AFTER; do
            build "$arch kernel$with" $with -DSHPOOL_INLINE=$one -arch=$arch -cubin \
                -o k$with.cubin ../kernel.cu
        done
        cmp -s k.cubin k-DWITH_AFTER.cubin
        result $? "$arch a kernel that does not use after.h is the same with it"
    fi
    if [ "$a" -ge 90 ] && [ -n "$one" ] && mkdir ../after 2>/dev/null &&
        build "$arch after.cu" -DSHPOOL_INLINE=$one -arch=$arch -cubin -o after.cubin ../after.cu
    then
        sed -n '/properties for sass_kernel/{n;p;}' nvcc.log | grep -q ' 0 bytes stack frame'
        result $? "$arch a queue of after.h has no stack frame"
    fi

    # -- pools in global memory --
    if [ $whole = 1 ] &&
        build "$arch glob_pool" $keep -arch=$arch -cubin -o glob.cubin ../glob.cu; then
        clean "$arch glob_pool"
        found=$(lock_stays glob.ptx)
        [ -z "$found" ] && [ "$(grep -c 'atom\.acquire\.gpu\.global\.cas\.b32' glob.ptx)" -ge 3 ]
        result $? "$arch glob_pool: a lock's critical section is inside its loop $found"
        # a launch that has the heap to itself: neither locks nor orders on its path
        found=$(awk '/^\.(func|visible|entry)/ { own = 0 }
            /^\.func.*shpool_global_(mallocILb|freeE|serve_inILb0ELb0)/ { own = 1; n++ }
            own && /[ \t](atom|fence|membar|(ld|st)\.(relaxed|acquire|release))/
            END { if (n < 4) { print n + 0 " functions" } }' glob.ptx)
        [ -z "$found" ]
        result $? "$arch glob_pool: no atomic access in a block's own heap $found"
    fi

    # -- the machine code itself, if the tool is installed --
    if command -v cuobjdump >/dev/null 2>&1; then
        for c in inline_*.cubin table_*.cubin; do
            found=$(cuobjdump -sass "$c" 2>/dev/null | grep -cE '[[:space:]](LDL|STL)[. ]')
            [ "$found" -eq 0 ]
            result $? "$arch $c: $found accesses to local memory"
        done
    fi
}

# ---- two architectures at a time ----
known=$($NVCC --list-gpu-code 2>/dev/null)
started=0
case ${sass_archs:=75,80,90,100,120} in
*[!0-9,\ ]*) sass_archs=75,80,90,100,120 ;; # "native" and the like
esac
for a in $(echo "$sass_archs,${sass_bitmaps-}" | tr , ' '); do
    case " $(echo $known) " in
    *" sm_$a "*) ;;
    *) echo "SKIP sm_$a: this nvcc does not know it"; continue ;;
    esac
    [ $started -lt 2 ] || wait -n
    (
        whole=1
        case ",$sass_archs," in
        *[,\ ]"$a"[,\ ]*) ;;
        *) whole=0 allocators='bitmap cluster_bitmap' inlines=$allocators ;;
        esac
        one_arch "$a"
    ) >"out.$a" 2>&1 &
    started=$((started + 1))
done
wait
cat out.* 2>/dev/null
passed=$(cat out.* 2>/dev/null | grep -c '^PASS')
failed=$(cat out.* 2>/dev/null | grep -c '^FAIL')
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
