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
part_of_a_warp_is_enough|llvm/helper.c|mix9|s/icmp eq i32 %mask, -1/icmp ne i32 %mask, 0/
records_lie_anywhere|llvm/helper.c|wrapped9|s/and i1 %%%s.mine, %%%s.equal/and i1 %%%s.mine, true/
wrong_inverse|llvm/transpose.c|expand9|s/odd . inverse % 32 != 1/odd * inverse % 32 != 3/
rotation_the_other_way|llvm/transpose.c|gather9|s/write_rotation(&t, 1)/write_rotation(\&t, 0)/
no_permutation|llvm/transpose.c|mix12|s/^        permute(&t, 1);//
butterfly_keeps_the_wrong_half|llvm/transpose.c|mix8|s/select i1 %%bit%u, i32 %s, i32 %%got%u.%u/select i1 %%bit%u, i32 %s, i32 %s/;s/bit, high, bit, .b, bit, low);/bit, high, bit, *b, *b);/
butterfly_one_round_short|llvm/transpose.c|mix16|s/bit < t->width; bit/2 * bit < t->width; bit/
row_of_the_wrong_lane|llvm/transpose.c|rows64|s/%%row%u = or i32 %%group, %u/%%row%u = add i32 %%group, %u/;s/%%group = xor i32 %%lane, %%in/%%group = add i32 %%lane, 0/
bytes_shifted_by_nothing|llvm/block.c|rgb8|s/%shift = shl i32 %byte, 3/%shift = shl i32 %byte, 2/
copy_one_row_short|llvm/block.c|copy_restrict9|s/128 . row, row, type/128 * (row > 0 ? row - 1 : 0), row, type/
order_of_a_copy_forgotten|llvm/rewrite.c|copy9|s/shape->loads_first = .*/shape->loads_first = 1;/
barriers_are_no_bar|llvm/read.c|exchange9|s/return !is_transparent_call(instruction);/return 0;/
everything_is_restrict|llvm/read.c|alias9|/^static int is_alone/,/^}/s/noalias) != NULL;/noalias) == NULL;/
remainder_is_exact|llvm/forms.c|wrapping9|s/? coalesce_llvm_whole(forms, value, how, &a)/? a/
order_is_not_checked|plan/decide.c|alias9|s/^            return COALESCE_IN_BETWEEN;/            return COALESCE_REWRITTEN;/
rows_pass_stores|plan/rows.c|alias_rows|s/^                return 1;$/                return 0;/
END
}

objects=$build/coalesce/plugin.d
others() { # all objects but that of the file
    for object in "$objects"/*/*.o; do
        [ "$object" = "$objects/${1%.c}.o" ] || printf '%s ' "$object"
    done
}

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
    (cd "$src/tests/coalesce" && SHPOOL_COALESCE=force "$llvm_bindir/clang++" -x cuda \
        -nocudainc -nocudalib -Wno-unknown-cuda-version -include cuda.h --cuda-gpu-arch=sm_90 \
        --cuda-device-only -O2 -S -emit-llvm -fpass-plugin="$work/fault.so" kernels.cu \
        -o "$work/fault.ll") && sh "$src/tests/coalesce/host.sh" "$work/fault.ll" "$work/fault_k.so"
    if [ ! -f "$work/fault_k.so" ]; then
        echo "FAIL $fault: the kernels do not compile"
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
