#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Faults planted in the rewrite, one at a time: the emulator must see a difference, or lanes that do
# not meet.  Called by coalesce/llvm.sh, with plain.so of the suite in the folder WORK.
#
#   coalesce/faults.sh WORK      top_srcdir, top_builddir, llvm_bindir, CC, CXX
set -u
work=$1
here=$(cd "$(dirname "$0")" && pwd)
src=$(cd "${top_srcdir:-$here/../..}" && pwd)
build=$(cd "${top_builddir:-.}" && pwd)
: "${CC:=cc}" "${CXX:=c++}"
failed=0

# fault | file | kernel that must differ | sed script, which must change the file
faults() {
    cat <<'END'
part_of_a_warp_is_enough|plan/warp.c|mix9|s/equals(warp, mask, -1)/with_number(warp, COALESCE_OP_ABOVE, mask, 0)/
records_lie_anywhere|plan/warp.c|wrapped9|s/half, first));/half, half));/
wrong_inverse|plan/warp.c|expand9|s/odd . inverse % COALESCE_LANES != 1/odd * inverse % COALESCE_LANES != 3/
rotation_the_other_way|plan/warp.c|gather9|s/write_rotation(&t, 1)/write_rotation(\&t, 0)/
no_permutation|plan/warp.c|mix12|s/^        permute(&t, 1);//
butterfly_keeps_the_wrong_half|plan/warp.c|mix8|s/choose(t->warp, low, got, .b)/choose(t->warp, low, *b, *b)/
butterfly_one_round_short|plan/warp.c|mix16|s/bit < t->width; bit/2 * bit < t->width; bit/
row_of_the_wrong_lane|plan/warp.c|rows64|s/COALESCE_OP_ADD, group, i)/COALESCE_OP_ADD, lane, i)/
copy_one_row_short|plan/warp.c|copy_restrict9|s/COALESCE_LANES . (int64_t)row;/COALESCE_LANES * (int64_t)(row - (side == 1 \&\& row > 0));/
quotient_for_remainder|llvm/print.c|gather9|s/= urem/= udiv/
exchange_by_index|llvm/print.c|mix8|s/shfl.sync.bfly.i32"/shfl.sync.idx.i32"/
words_of_a_unit_turned_round|llvm/print.c|mix12|s/", i32 %u.n", i);/", i32 %u\\n", op->words - 1 - i);/
original_words_twice|llvm/helper.c|odd_lanes9|s/align %u.n", i, 8 . bytes, i, bytes);/align %u\\n", i, 8 * bytes, i \& ~4u, bytes);/
narrow_fields_of_one_byte|llvm/helper.c|narrow8|s/lshr i32 %%w%u, %u.n", i, at, i, 8 . at);/lshr i32 %%w%u, %u\\n", i, at, i, 8 * (at \& 2));/
narrow_fields_in_one_place|llvm/rewrite.c|narrow8|s/LLVMBuildShl(e->builder, value, LLVMConstInt(e->i32, at, 0), "");/LLVMBuildShl(e->builder, value, LLVMConstInt(e->i32, 0, 0), "");/
holes_are_stored|llvm/print.c|holes7|s/int is_some = op->a.5. != COALESCE_NO_VALUE;/int is_some = 0;/
order_of_a_copy_forgotten|llvm/rewrite.c|copy9|s/if ((!in_turn ||/if ((1 ||/
barriers_are_no_bar|llvm/read.c|exchange9|s/return !is_transparent_call(instruction);/return 0;/
everything_is_restrict|llvm/read.c|alias9|/^static int is_alone/,/^}/s/noalias) != NULL;/noalias) == NULL;/
remainder_is_exact|llvm/forms.c|wrapping9|s/return whole_value(forms, value, how, &a)/return a/
order_is_not_checked|plan/decide.c|alias9|s/group->between = obstacle_of(d, group, moved, 0);/group->between = COALESCE_NO_ACCESS;/
addresses_are_never_near|llvm/apart.c|open9|s/LLVMConstInt(i64, 2 . (uint64_t)bytes - 1, 0)/LLVMConstInt(i64, 0, 0)/
near_goes_the_other_way|llvm/apart.c|open9|s/(builder, near, plain, moved)/(builder, near, moved, plain)/
rows_pass_stores|plan/rows.c|alias_rows|s/^                return 1;$/                return 0;/
END
}

objects=$build/coalesce/plugin.d
others() { # all objects but that of the file
    for object in $(find "$objects" -name '*.o'); do
        [ "$object" = "$objects/coalesce/${1%.c}.o" ] || printf '%s ' "$object"
    done
}

# all kernels once, then only the one for each fault
(cd "$src/tests/coalesce" && "$llvm_bindir/clang++" -x cuda -nocudainc -nocudalib \
    -Wno-unknown-cuda-version -include cuda.h --cuda-gpu-arch=sm_90 --cuda-device-only -O2 \
    -Xclang -disable-llvm-passes -S -emit-llvm kernels.cu -o "$work/unoptimised.ll") || exit 1
while IFS='|' read -r fault file kernel script; do
    sed "$script" "$src/coalesce/$file" >"$work/fault.c"
    if cmp -s "$work/fault.c" "$src/coalesce/$file"; then
        echo "FAIL $fault: the script changes nothing"
        failed=1
        continue
    fi
    $CC -std=c11 -O1 -w -fPIC -D_GNU_SOURCE -I"$src" -I"$src/coalesce/${file%/*}" \
        -isystem "${llvm_includedir:-}" -c "$work/fault.c" -o "$work/fault.o" &&
        $CXX -shared -o "$work/fault.so" "$work/fault.o" $(others "$file") || {
        echo "FAIL $fault: does not compile"
        failed=1
        continue
    }
    "$llvm_bindir/llvm-extract" --recursive --func="$kernel" -S "$work/unoptimised.ll" \
        -o "$work/one.ll" &&
        SHPOOL_COALESCE=force "$llvm_bindir/clang++" --target=nvptx64-nvidia-cuda -O2 -S \
            -emit-llvm -fpass-plugin="$work/fault.so" -x ir "$work/one.ll" -o "$work/fault.ll" &&
        sh "$src/tests/coalesce/host.sh" "$work/fault.ll" "$work/fault_k.so"
    if [ ! -f "$work/fault_k.so" ]; then
        echo "FAIL $fault: the kernel does not compile"
        failed=1
        continue
    fi
    "$build/tests/coalesce/emulate" "$work/plain.so" "$work/fault_k.so" "$kernel" \
        >"$work/fault.log" 2>&1
    status=$?
    if [ $status != 0 ] && { [ $status -ge 128 ] || grep -q "$kernel differs" "$work/fault.log"; }
    then
        echo "PASS fault $fault is seen in $kernel"
    else
        echo "FAIL fault $fault is not seen in $kernel"
        failed=1
    fi
    rm -f "$work/fault_k.so"
done <<END
$(faults)
END
exit $failed
