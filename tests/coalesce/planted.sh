#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The tests of the tests: each bug below is planted in a copy of one file of coalesce/, and one of
# test_plan, test_run, test_warp and test_random must fail.
# (Faults in rewritten code are planted by test_run itself.)
#
#   CC, top_srcdir, top_builddir, cmocka_cflags
#
# Prints one PASS or FAIL line per bug.  Exit: 0; 1: one went unnoticed, or its sed script changes
# nothing; 77: no CMocka, or no static library in the build.
set -u
: "${CC:=cc}" "${top_srcdir:=.}" "${top_builddir:=.}" "${cmocka_cflags:=}"
src=$(cd "$top_srcdir" && pwd)
build=$(cd "$top_builddir" && pwd)
library=$build/.libs/libshpool_core.a
if [ ! -f "$library" ] || [ ! -x "$build/tests/coalesce/test_run" ]; then
    echo "skipped: no CMocka, or no static convenience library"
    exit 77
fi
top_srcdir=$src
export top_srcdir
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
jobs=2
flags="-std=gnu11 -O2 -w -DHAVE_CONFIG_H -I$build -I$build/include -I$src/include -I$src
    $cmocka_cflags"

# name | file of coalesce/ | sed script
bugs() {
    cat <<'BUGS'
order_not_looked_at|plan/decide.c|s/return i;$/return COALESCE_NO_ACCESS;/
volatile_is_nothing|plan/decide.c|s/(flags & (COALESCE_VOLATILE | COALESCE_ATOMIC)) != 0/0/
places_not_kept|plan/decide.c|s/^    d->place\[access\] = place;/    ;/
all_stores_apart|plan/groups.c|/^int coalesce_may_alias/,/^}/s/    return 1;/    return 0;/
holes_are_copied|plan/decide.c|s/return COALESCE_HOLES_STORED;/return COALESCE_REWRITTEN;/
holes_are_stored|plan/warp.c|s/lanes |= (uint32_t)(t->record->covered >> word & 1) << lane;/lanes |= 1u << lane;/
units_have_holes|plan/record.c|s/if ((stored != 0) \&\& (stored != all)) {/if (0) {/
units_between_lanes|plan/warp.c|s/ || (4 . t.unit % t.next != 0)//
last_word_unread|plan/decide.c|s/return (end < record)/return (0)/
twice_is_once|plan/decide.c|s/if (offset < end) {/if (0) {/
special_is_plain|plan/groups.c|s/return COALESCE_SPECIAL_ACCESS;/return COALESCE_REWRITTEN;/
descending_is_fine|plan/decide.c|s/return COALESCE_NEGATIVE_STRIDE;/(void)0;/
any_copy|plan/plan.c|s/(to_offset != from_offset)/0/;s/(store->copied_from != loads->member\[k\])/0/
runs_do_not_matter|plan/groups.c|s/(access.i..run == access.i - 1..run)/1/
barriers_do_not_matter|ptx/flow.c|/^int ptx_is_fence/,/^}/s/return 1;/return 0;/
labels_do_not_matter|ptx/flow.c|/^static void number_runs/,/^}/s/            run++;/            ;/
registers_do_not_matter|ptx/check.c|/^static int is_touched/,/^}/s/return ptx_is_touched.*/return 0;/
all_is_uniform|ptx/uniform.c|s/return (known != NULL) \&\& known->uniform;/return 1;/
guards_do_not_matter|ptx/access.c|s/? COALESCE_CONDITIONAL : 0u/? 0u : 0u/
halves_exchanged|ptx/print.c|s/{~w%u, ~w%u}, ~d%u;.n", op->value, op->value + 1/{~w%u, ~w%u}, ~d%u;\\n", op->value + 1, op->value/
offsets_of_the_first|ptx/emit.c|s/(uint64_t)distance + (uint64_t)address_of(j, anchor)->value/(uint64_t)distance/
unit_of_four_always|plan/record.c|s/uint32_t unit = (record->words % 4 == 0) ? 4 :.*/uint32_t unit = 4;/
loads_into_the_address|ptx/check.c|s/(reg == ptx_base_of(planned->module, at(planned, place))) ||//
pieces_not_permuted|plan/warp.c|s/^        permute(&t, [01]);//
exchange_with_oneself|plan/warp.c|s/choose(t->warp, low, .b, .a), away)/choose(t->warp, low, *b, *a), 0)/
narrow_parts_overlap|ptx/print.c|s/"%u, %u;.n", 8 . at, 8 . field->bytes/"%u, %u;\\n", 8 * at, 8/
narrow_has_no_sign|ptx/emit.c|s/return module->text.begin. == 's';/return 0;/
narrow_is_aligned|plan/warp.c|s/(align == 4) \&\& !g->record->is_narrow/align == 4/
words_are_filled|plan/decide.c|s/        return COALESCE_PART_OF_WORD;/        ;/
any_alignment|plan/record.c|s/return 4 . coalesce_record_unit(record);/return 4;/
overlap_by_a_unit|plan/warp.c|s/2 . bytes - 2)/2 * bytes - 18)/
a_tile_is_nc_if_its_first_load_is|plan/rows.c|s/(((access.i..flags . access.first..flags) & COALESCE_NONCOHERENT) == 0) &&/1 \&\&/
near_is_apart|ptx/apart.c|s/(long long)(2 . apart->bytes - 1)/0LL/
the_other_way_is_apart|ptx/apart.c|s/apart->bytes - 1))/0))/;s/(2 . apart->bytes - 1)/(apart->bytes)/
one_question_will_do|ptx/apart.c|s/or.pred ~near, ~near, ~too/or.pred ~near, ~near, ~near/
addresses_come_later|ptx/apart.c|s/i < region->firsts; i++) {$/i < 0; i++) {/
stores_before_the_barrier|plan/warp.c|s/^    sync(warp); .. nothing that.*//
BUGS
}

one() { # TMP NAME
    tmp=$1
    line=$(bugs | grep "^$2|")
    file=$(printf '%s\n' "$line" | cut -d'|' -f2)
    mkdir -p "$tmp/$2" || return 1
    printf '%s\n' "$line" | cut -d'|' -f3- >"$tmp/$2/sed"
    sed -f "$tmp/$2/sed" "$src/coalesce/$file" >"$tmp/$2/bug.c"
    if cmp -s "$src/coalesce/$file" "$tmp/$2/bug.c"; then
        echo "FAIL $2: the sed script changes nothing"
        return 1
    fi
    # shellcheck disable=SC2086
    if ! $CC $flags -I"$src/coalesce/${file%/*}" -c "$tmp/$2/bug.c" -o "$tmp/$2/bug.o" \
        2>"$tmp/$2/log"; then
        echo "FAIL $2: does not compile"
        head -3 "$tmp/$2/log"
        return 1
    fi
    for test in test_plan test_run test_warp test_random; do # the quick ones first
        $CC "$tmp/$test.o" "$tmp/$2/bug.o" "$tmp/machine.a" "$library" -lcmocka -lm -ldl \
            -lpthread -o "$tmp/$2/test" 2>"$tmp/$2/log" || { head -3 "$tmp/$2/log"; return 1; }
        tests='test_*'
        [ $test = test_run ] && tests='test_run*' # not its planted faults
        if ! timeout 120 "$tmp/$2/test" "$tests" >"$tmp/$2/out" 2>&1; then
            echo "PASS $2: $test"
            return 0
        fi
    done
    echo "FAIL $2: not noticed"
    return 1
}

if [ "${1:-}" = --one ]; then
    trap - EXIT
    rm -rf "$tmp"
    one "$2" "$3"
    exit $?
fi
for file in main coalesce/ptx_alu coalesce/ptx_machine coalesce/ptx_trial coalesce/ptx_warps \
    coalesce/test_plan coalesce/test_random coalesce/test_run \
    coalesce/test_warp; do
    # shellcheck disable=SC2086
    $CC $flags -c "$src/tests/$file.c" -o "$tmp/${file#*/}.o" || exit 1
done
ar cr "$tmp/machine.a" "$tmp"/main.o "$tmp"/ptx_*.o || exit 1
bugs | cut -d'|' -f1 | xargs -P $jobs -I@ sh "$0" --one "$tmp" @
