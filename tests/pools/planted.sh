#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The tests of the tests: each bug below is planted in a copy of the allocators, the headers, or of
# one file of lib/, device/ or coalesce/, and the test that is there for it must fail, with the
# right report.  Without a bug the same tests pass: they are those of make check.  (Faults in
# rewritten PTX are planted by coalesce/test_run itself.)
#
#     planted.sh [WORD...]   only bugs in whose rows one of the words stands: a name, file or test
#
#   CC, CXX        compilers [cc, c++]; where there is clang it compiles what is large
#   JOBS           bugs at a time [2]
#   top_srcdir     source folder [the one above this script's]
#   top_builddir   build folder, whose library has all that a bug does not touch [.]
#
# Prints one PASS or FAIL line per bug.  Exit: 0; 1: a bug went unnoticed, or a sed pattern below no
# longer matches the sources; 77: no CMocka, no static convenience libraries, not all allocators.
set -u
: "${CC:=cc}" "${CXX:=c++}"
here=$(cd "$(dirname "$0")" && pwd)
src=$(cd "${top_srcdir:-$here/../..}" && pwd)
build=$(cd "${top_builddir:-.}" && pwd)
library=$build/.libs/libshpool_core.a
tests_library=$build/.libs/libshpool_tests.a
jobs=${JOBS:-2}

# bug | program | build | tests of it | what its output must have | file | sed script
# Builds: plain, and tsan (ThreadSanitizer; only where the compiler has it).  After the file of a
# header may stand @ and the allocators that get its bug [bitmap; none: only the test].  Each
# command of a sed script must change the file.
bugs() {
    cat <<'BUGS'
relaxed_release_in_free|pools/test_explore|tsan|test_short_runs_in_one_word|data race|allocators/bitmap/bitmap.h|/^SIMT_FN.*shpool_bitmap_give(/,/^}/s/SIMT_RELEASE);/SIMT_RELAXED);/
relaxed_release_in_clear_rest|pools/test_explore|tsan|test_long_and_short_runs|data race|allocators/bitmap/bitmap_row.h|/^SHPOOL_.*shpool_bitmap_clear_rest(/,/^}/s/SIMT_RELEASE)/SIMT_RELAXED)/
relaxed_acquire_in_claim_row|pools/test_explore|tsan|test_each_pair*|data race|allocators/bitmap/bitmap_row.h|/^SIMT_FN.*shpool_bitmap_claim_run(/,/^}/s/SIMT_ACQ_REL)/SIMT_RELEASE)/
relaxed_acquire_at_the_end_of_a_row|pools/test_explore|tsan|test_the_last_pair*|data race|allocators/bitmap/bitmap_row.h|/^SIMT_FN.*shpool_bitmap_claim_run(/,/^}/s/rear(first + need), SIMT_ACQUIRE)/rear(first + need), SIMT_RELAXED)/
relaxed_acquire_in_a_pair|pools/test_explore|tsan|test_long_runs_in_one_pair|data race|allocators/bitmap/bitmap_row.h|/^SIMT_FN.*shpool_bitmap_claim_run(/,/^}/s/front(first, first + need), SIMT_ACQUIRE)/front(first, first + need), SIMT_RELAXED)/
relaxed_acquire_in_take|pools/test_explore|tsan|test_short_runs_in_one_word|data race|allocators/bitmap/bitmap.h|/^SIMT_FN.*shpool_bitmap_take_or(/,/^}/s/SIMT_ACQUIRE)/SIMT_RELAXED)/;/^SIMT_FN.*shpool_bitmap_take_at(/,/^}/s/SIMT_ACQUIRE)/SIMT_RELAXED)/
plain_load_in_take|pools/test_explore|tsan|test_short_runs_in_one_word|data race|allocators/bitmap/bitmap.h|/^SIMT_FN.*shpool_bitmap_take_or(/,/^}/s/simt_atomic_load(a, SIMT_RELAXED)/simt_load32(a)/
plain_load_in_spot|pools/test_explore|tsan|test_short_runs_in_one_word|data race|allocators/bitmap/bitmap.h|/^SIMT_FN.*shpool_bitmap_spot(/,/^}/s/simt_peek(a)/simt_load32(a)/
plain_load_in_find|pools/test_explore|tsan|test_long_and_short_runs|data race|allocators/bitmap/bitmap_runs.h|/^SIMT_FN.*shpool_bitmap_unused_at(/,/^}/s/simt_atomic_load_pair(a, SIMT_ACQUIRE);/{simt_load32(a), simt_load32(a + 4u)};/
no_barrier_after_init|pools/test_conformance|plain|test_scripts_of_33_threads|faults\|fault:\|deadlock|include/shpool/heap.h|s/^    SHPOOL_BARRIER(pool->flags); .. every pool is ready.*//
planes_relaxed_claim|pools/test_explore_planes|tsan|test_short_runs_in_one_word|data race|allocators/planes/runs.h|/^SIMT_FN.*shpool_planes_take_half(/,/^}/s/(a, run, SIMT_ACQUIRE)/(a, run, SIMT_RELAXED)/
planes_relaxed_claim_of_words|pools/test_explore_planes|tsan|test_long_runs_of_2_threads|data race|allocators/planes/runs.h|/^SIMT_FN.*shpool_planes_claim(/,/^}/s/bits, SIMT_ACQUIRE)/bits, SIMT_RELAXED)/
planes_relaxed_free|pools/test_explore_planes|tsan|test_short_runs_in_one_word|data race|allocators/planes/thread.h|/^SIMT_FN.*shpool_planes_free(/,/^}/s/SIMT_FENCED)/SIMT_RELAXED)/
planes_relaxed_clear|pools/test_explore_planes|tsan|test_long_runs_of_2_threads|data race|allocators/planes/runs.h|/^SIMT_FN.*shpool_planes_clear(/,/^}/s/SIMT_FENCED)/SIMT_RELAXED)/
planes_group_acquires_nothing|pools/test_group_explore_planes|tsan|*|data race|allocators/planes/planes.h|/^SIMT_FN.*malloc_group(/,/^}/s/^        simt_warp_sync(lanes); .*$//
planes_undo_of_all|pools/test_explore_planes|plain|test_short_runs_in_one_word|not so: |allocators/planes/runs.h|s/(a, ~run . old, SIMT_RELAXED)/(a, ~run, SIMT_RELAXED)/
planes_words_leave_their_claim|pools/test_explore_planes|plain|test_long_runs*|not so: \|broken\|wrong refusal\|bytes used\|budget|allocators/planes/runs.h|/^SIMT_FN.*shpool_planes_claim(/,/^}/s/~mine\[i\], SIMT_RELAXED/~0u, SIMT_RELAXED/
planes_uncounted_free|pools/test_explore_planes|plain|test_a_hole*|wrong refusal|allocators/planes/thread.h|s/    searching = simt_peek(view.base);/    searching = 0;/
planes_secret_search|pools/test_explore_planes|plain|test_a_hole*|wrong refusal|allocators/planes/runs.h|s/(void)simt_atomic_add(base, 1u, SIMT_RELAXED);/;/
planes_older_proof|pools/test_explore_planes|plain|test_a_proof*|wrong refusal|allocators/planes/runs.h|s/>> 16 >= 2u)/>> 16 >= 1u)/
planes_waits_for_ever|pools/test_explore_planes|plain|test_void*|condition does not hold|allocators/planes/runs.h|s/: n + SIMT_PATIENCE . SHPOOL_PLANES_VOIDS + 1u;/: SHPOOL_PLANES_LONGEST;/
planes_start_is_not_tested|pools/test_explore_planes|plain|test_double_free*|condition does not hold|allocators/planes/thread.h|s/if ((tags \& bit) == 0) {/if (0) {/
planes_no_end_bit|pools/test_explore_planes|plain|test_m*_refuse*_nobody|ERROR: |allocators/planes/runs.h|s/^    shpool_planes_end(base, granules, first, end);//
planes_former_ends_stay|pools/test_conformance|plain|test_scripts_of_33_threads|usable\|invariant\|not so\|broken\|overlaps|allocators/planes/runs.h|/^SIMT_FN.*shpool_planes_end(/,/^}/s/while ((g = .*/while (0) {/
planes_no_tail|pools/test_geometry|plain|*|invariant 3|allocators/planes/runs.h|s/~shpool_planes_bits(32u \* w, 0, view.word\[0\]));/0);/
planes_resize_forgets_the_end|pools/test_explore_planes|plain|test_resize*|not so: \|ERROR: |allocators/planes/thread.h|/^SIMT_FN.*shpool_planes_resize(/,/^}/s/        shpool_planes_end(.*//
refuses_at_once|pools/test_explore|plain|test_m*_refuse*_nobody|wrong refusal|allocators/bitmap/bitmap.h|s/if ((shpool_bitmap_releases(view.base) != before) &&/if (0 \&\&/;s/if (pending == 0)/if (1)/
ignores_pending|pools/test_explore|plain|test_m*_refuse*_nobody|wrong refusal|allocators/bitmap/bitmap.h|s/if (pending == 0)/if (1)/
ignores_releases|pools/test_explore|plain|test_m*_refuse*_nobody|wrong refusal|allocators/bitmap/bitmap.h|s/if ((shpool_bitmap_releases(view.base) != before) &&/if (0 \&\&/
rollback_without_release|pools/test_explore|plain|test_m*_refuse*_nobody|wrong refusal|allocators/bitmap/bitmap_runs.h|s/shpool_bitmap_released(view); .. first.*//
free_without_release|pools/test_warp_explore|plain|test_memory_that_a_thread*|wrong refusal|allocators/bitmap/bitmap.h|/^SIMT_FN.*shpool_bitmap_given(/,/^}/s/^        shpool_bitmap_released(view);$/        ;/;/^SIMT_FN.*shpool_bitmap_free_long(/,/^}/s/^    shpool_bitmap_released(view);$/    ;/
group_acquires_nothing|pools/test_group_explore|tsan|test_short_runs|data race|allocators/bitmap/bitmap_group.h|/^SIMT_FN.*shpool_bitmap_malloc_led(/,/^}/s/^    simt_warp_sync(lanes); .*$//
claim_acquires_nothing|pools/test_warp_explore|tsan|test_reuse_at*|data race|allocators/bitmap/bitmap_first.h|/^SIMT_FN.*shpool_bitmap_bid_wins(/,/^}/s/marked, SIMT_ACQUIRE)/marked, SIMT_RELAXED)/
warp_frees_relaxed|pools/test_warp_explore|tsan|test_reuse_behind*|data race|allocators/bitmap/bitmap_group_free.h|/^SIMT_FN.*shpool_bitmap_clear_word(/,/^}/s/~clear, SIMT_RELEASE)/~clear, SIMT_RELAXED)/
claim_believes_any_lane|pools/test_warp_explore|plain|test_first_look*|not so: \|broken\|overlaps\|wrong refusal|allocators/bitmap/bitmap_first.h|s/simt_all(SIMT_ALL_LANES, ok && bid_p->any)/simt_any(SIMT_ALL_LANES, got \&\& (bits.x != 0))/
pairs_believe_any_lane|pools/test_warp_explore|plain|test_long_runs*|divergence\|not so: \|broken\|overlaps\|wrong refusal\|budget|allocators/bitmap/bitmap_group.h|s/simt_all(SIMT_ALL_LANES, SHPOOL_BITMAP_PAIR . p >= end) != 0;/simt_any(SIMT_ALL_LANES, SHPOOL_BITMAP_PAIR * p >= end) != 0;/
claim_leaves_its_marks|pools/test_warp_explore|plain|test_first_look*|not so: \|broken\|wrong refusal\|bytes used\|deadlock\|budget|allocators/bitmap/bitmap_first.h|/^SIMT_FN.*shpool_bitmap_undo(/,/^}/s/if ((bits.x . bits.y) != 0) {/if (0) {/
row_looks_claimed_by_others|pools/test_warp_explore|plain|test_rows*|not so: \|broken\|wrong refusal\|bytes used\|deadlock\|budget\|overlaps|allocators/bitmap/bitmap_first.h|s/^    bid_p->bits.x = got ? bits.x : 0u;/    bid_p->bits.x = bits.x;/;s/^    bid_p->bits.y = got ? bits.y : 0u;/    bid_p->bits.y = bits.y;/
row_ends_after_the_pool|pools/test_group_search|plain|test_warps_that*|the model NULL\|: word\|not so: |allocators/bitmap/bitmap_first.h|/^SIMT_FN.*shpool_bitmap_has_pair(/,/^}/s/return .*;/return 1u;/
row_is_not_claimed|pools/test_warp_explore|plain|test_a_row_is*|not so: |allocators/bitmap/bitmap_first.h|s/((run << 11) & SHPOOL_BITMAP_CLAIMED)/0u/
late_only_without_waiting|pools/test_warp_explore|plain|test_rows_of*|invariant 4\|not so: \|broken\|budget|allocators/bitmap/bitmap_group.h|/^SIMT_FN.*shpool_bitmap_malloc_row(/,/^}/s/if ((p & SHPOOL_BITMAP_LATE) != 0) {/if ((p \& (SHPOOL_BITMAP_LATE + SHPOOL_BITMAP_TRY)) == SHPOOL_BITMAP_LATE) {/
row_touches_the_payload|pools/test_warp_explore|tsan|test_a_row_leaves*|data race|allocators/bitmap/bitmap_first.h|s/2u . (((bid.bits.x != 0) ? q : p) + simt_lane())/2u * (q + simt_lane())/
claimed_row_touches_the_payload|pools/test_warp_explore|tsan|test_a_row_leaves*|data race|allocators/bitmap/bitmap_first.h|s/{shpool_bitmap_pair_at(view, q + simt_lane())/{shpool_bitmap_word_at(view, 2u * (q + simt_lane()))/
row_is_not_aligned|pools/test_group_search|plain|test_warps_that*|not so: |allocators/bitmap/bitmap_first.h|s/(((SHPOOL_BITMAP_PAIR . (p + lane)) & wish.below) == 0)/1/
row_goes_around_the_pool|pools/test_group_search|plain|test_warps_that*|the model NULL\|: word\|not so: |allocators/bitmap/bitmap_first.h|s/(whole, wraps ? 0u : next, p, wish)/(whole, next, p, wish)/
small_is_not_aligned|pools/test_group_search|plain|test_warps_that*|not so: |allocators/bitmap/bitmap_first.h|s/(wish.need <= SHPOOL_BITMAP_PAIR) && (wish.below == 0);/(wish.need <= SHPOOL_BITMAP_PAIR);/
row_of_any_alignment|pools/test_group_search|plain|test_warps_that*|not so: |allocators/bitmap/bitmap_first.h|s/ && (wish.below < 63u);/;/
row_of_any_alignment_later|pools/test_group_search|plain|test_warps_that*|not so: |allocators/bitmap/bitmap_group.h|s/!shpool_bitmap_wants_row(wish)/(need - SHPOOL_BITMAP_PAIR - 1u >= SHPOOL_BITMAP_LOOK - SHPOOL_BITMAP_PAIR)/
row_forgets_the_next_word|pools/test_group_search|plain|test_warps_that*|: word\|not so: |allocators/bitmap/bitmap_first.h|s/((run << 20) & SHPOOL_BITMAP_MORE)/0u/
small_forgets_the_next_word|pools/test_group_search|plain|test_warps_that*|: word\|not so: |allocators/bitmap/bitmap_first.h|s/(((run & (run >> 1)) << 21) & SHPOOL_BITMAP_MORE)/0u/
warps_that_met_look_as_before|pools/test_group_search|plain|test_warps_that*|not so: |allocators/bitmap/bitmap_first.h|/^SIMT_FN.*shpool_bitmap_bid_for(/,/^}/s/if (spread &&/if (0 \&\&/;s/if (!spread ||/if (1 ||/
warps_never_gather|pools/test_warp_explore|plain|test_a_search_in*|gathered|allocators/bitmap/bitmap_group.h|s/^    shpool_bitmap_gather(base);$//
claimed_stays|pools/test_warp_explore|plain|test_first_look*|invariant 4\|broken\|budget|allocators/bitmap/bitmap_first.h|s/~(bits.x & SHPOOL_BITMAP_CLAIMED), SIMT_RELAXED)/~0u, SIMT_RELAXED)/
settled_claim_stays|pools/test_warp_explore|plain|test_one_pair_for_one|invariant 4\|budget|allocators/bitmap/bitmap_group.h|/^SIMT_FN.*shpool_bitmap_settle(/,/^}/s/~bit, SIMT_RELAXED/~0u, SIMT_RELAXED/
first_look_believes_claimed|pools/test_warp_explore|plain|test_a_claim_is_left_alone_at*|not so: |allocators/bitmap/bitmap_first.h|s/^    bid.seen.x &= ~SHPOOL_BITMAP_CLAIMED; .*$//
search_ignores_claimed|pools/test_warp_explore|plain|test_a_claim_is_left_alone|not so: |allocators/bitmap/bitmap_group.h|s/ && ((look.words.x & SHPOOL_BITMAP_CLAIMED) == 0))/)/;s/(SHPOOL_BITMAP_USED . SHPOOL_BITMAP_CLAIMED)) == 0;/SHPOOL_BITMAP_USED) == 0;/
warp_ignores_claimed|pools/test_warp_explore|plain|test_a_claim*warp|wrong refusal|allocators/bitmap/bitmap_group.h|s/if (simt_any(SIMT_ALL_LANES, (.state_p . SHPOOL_BITMAP_CLAIMED) != 0)) {/if (0) {/
thread_ignores_claimed|pools/test_warp_explore|plain|test_a_claim*thread|wrong refusal|allocators/bitmap/bitmap.h|s/^        if (busy != 0) {/        if (0) {/
warp_ignores_pending|pools/test_warp_explore|plain|test_a_long_claim*|wrong refusal|allocators/bitmap/bitmap_group.h|s/if (pending == 0) {/if (1) {/
long_claim_looks_settled|pools/test_warp_explore|plain|test_a_long_claim_is*|not so: |allocators/bitmap/bitmap_group.h|/^SIMT_FN.*shpool_bitmap_claim_pairs(/,/^}/s/(free ? bits.x : 0u), seen.y/(free ? bits.x \& ~SHPOOL_BITMAP_CLAIMED : 0u), seen.y/
claim_marks_what_is_used|pools/test_warp_explore|plain|test_long_runs*|the model found\|: word\|not so: \|broken\|overlaps|allocators/bitmap/bitmap_group.h|/^SIMT_FN.*shpool_bitmap_claim_pairs(/,/^}/s/= shpool_bitmap_is_free(seen, bits);/= 1u;/
attempts_end_with_a_late_claim|pools/test_warp_explore|plain|test_one_of*|condition|allocators/bitmap/bitmap_group.h|s/^            shpool_bitmap_back_off(state_p, SHPOOL_BITMAP_PATIENCE);.*/            return SHPOOL_BITMAP_NOWHERE;/;s/shpool_bitmap_has_seen_all(base, before, .state)) {/1) {/
warp_ignores_releases|pools/test_warp_explore|plain|test_memory_freed*|wrong refusal|allocators/bitmap/bitmap_group.h|s/if (simt_any(SIMT_ALL_LANES, shpool_bitmap_releases_of(base) != before)) {/if (0) {/
warp_frees_without_release|pools/test_warp_explore|plain|test_memory_that*|wrong refusal|allocators/bitmap/bitmap_group_free.h|/^SIMT_FN.*shpool_bitmap_free_warp(/,/^}/s/own != 0, SIMT_RELEASE)/0, SIMT_RELEASE)/
turn_forgets_the_run_into_its_start|pools/test_group_search|plain|test_a_search*|NULL, the model found|allocators/bitmap/bitmap_group.h|s/((p >= start) && (run >= .*)))$/(p >= start)/
round_leaves_its_marks|pools/test_warp_explore|plain|test_several*|not so: \|broken\|wrong refusal\|bytes used\|budget|allocators/bitmap/bitmap_group.h|s/withdraw(view, first, end, p);/withdraw(view, first, end, p - SIMT_WARP);/
earlier_rounds_leave_their_marks|pools/test_warp_explore|plain|test_several*|not so: \|broken\|wrong refusal\|bytes used\|budget|allocators/bitmap/bitmap_group.h|s/withdraw(view, first, end, p);/withdraw(view, first, end, 0u);/
claims_what_is_used|pools/test_warp_explore|plain|test_several*|not so: \|broken\|wrong refusal\|overlaps\|budget|allocators/bitmap/bitmap_group.h|s/(SHPOOL_BITMAP_USED . SHPOOL_BITMAP_CLAIMED)) == 0;/SHPOOL_BITMAP_CLAIMED) == 0;/
high_end_too_high|pools/test_group_search|plain|test_a_search*|not so: \|broken\|overlaps\|budget|allocators/bitmap/bitmap_group.h|s/return (end - wish.need) . ~wish.below;/return (end - wish.need + 1u) \& ~wish.below;/
warp_takes_without_the_swap|pools/test_warp_explore|plain|test_double*|condition|allocators/bitmap/bitmap_group_free.h|s/^    sole = (simt_atomic_cas(a, seen, seen . used, SIMT_RELAXED) == seen) &&/    (void)simt_atomic_cas(a, seen, seen ^ used, SIMT_RELAXED); sole =/
warp_clears_what_it_has_not_taken|pools/test_warp_explore|plain|test_double*|bytes used\|broken|allocators/bitmap/bitmap_group_free.h|s/ && taken) ? clear : 0u;/) ? clear : 0u;/
warp_forgets_words_behind_its_own|pools/test_warp_explore|plain|test_reuse_of_many*|not so: \|broken\|wrong refusal\|bytes used\|budget|allocators/bitmap/bitmap_group_free.h|s/^        shpool_bitmap_clear_on(view.base, .*/        ;/
warp_leaves_the_start_bit|pools/test_group_search|plain|test_every*|: word|allocators/bitmap/bitmap_group_free.h|/^SIMT_FN.*shpool_bitmap_clear_word(/,/^}/s/(own << SHPOOL_BITMAP_STARTS)/0u/
windows_carry_nothing|pools/test_group_search|plain|test_runs*|the model found|allocators/bitmap/bitmap_group.h|/^SIMT_FN.*shpool_bitmap_reach(/,/^}/s/? start : run;/? start : look.at - SHPOOL_BITMAP_PAIR * simt_lane();/
group_does_not_wait_for_last_uses|pools/test_group_explore|tsan|test_short_runs|data race|include/shpool/group.h|s/simt_warp_sync(lanes); .. the members' last use.*//
members_are_believed|pools/test_group_misuse|plain|test_members*|not so: |include/shpool/group.h|s/!shpool_lanes_agree(lanes, bytes)/0/
waiting_members_may_differ_in_alignment|pools/test_group_misuse|plain|test_members*|divergence\|reports, not\|0xffffffff !=|include/shpool/wait.h|s/shpool_rest(alignment, attempts)/shpool_rest(0, attempts)/
waiting_members_may_differ_in_attempts|pools/test_group_misuse|plain|test_*warp*|divergence\|not so: |include/shpool/wait.h|s/shpool_rest(alignment, attempts)/shpool_rest(alignment, 0)/
zones_without_a_barrier|pools/test_group_misuse|tsan|test_another*|data race|include/shpool/impl/report/instrument.h|s/simt_warp_sync(lanes); .. the zones: another lane may free it at once ..//
too_large_uses_its_attempts|pools/test_conformance|plain|test_every_call*|budget|include/shpool/wait.h|s/((bytes > most) /((bytes > 1u << 30) /
native_never_waits|pools/test_conformance|plain|test_every_call*|not so: |include/shpool/wait.h|s/(heap.view.bytes != 0) ? shpool_heap_unspilled(heap) : heap;/shpool_heap_unspilled(heap);/
ticket_is_never_ended|pools/test_wait_turns|plain|test_who_gives*|not so: |include/shpool/impl/waiters.h@none|s/(void)simt_atomic_add(turn->waiters + 4u.*/;/
who_is_stuck_stays_so|pools/test_wait_turns|plain|test_who_gives*|not so: |include/shpool/impl/waiters.h@none|s/(void)simt_atomic_cas(turn->waiters + 8u, turn->ticket + 1u, 0u.*/;/
nobody_insists|pools/test_wait_turns|plain|test_who_waits*|not in order|include/shpool/impl/waiters.h@none|s/(void)simt_atomic_cas(turn->waiters + 8u, 0u.*/;/
newcomers_pass|pools/test_wait_turns|plain|test_a_large*|overtaken|include/shpool/wait.h|s/(attempts <= 1u) .. !shpool_turn_is_taken(heap.view);/1;/
newcomers_search_on|pools/test_wait_turns|plain|test_a_new*|not so: |allocators/bitmap/bitmap_group.h|s/return ((state . SHPOOL_BITMAP_TRY) != 0) \&\&/return 0 \&\&/
sleeps_stay_short|pools/test_wait_turns|plain|test_sleeps*|not so: |include/shpool/impl/waiters.h@none|s/(turn->pause < doubled) ? turn->pause : SHPOOL_PAUSE_STEP/(turn->pause < doubled) ? turn->pause : 0u/
patience_never_ends|pools/test_wait_turns|plain|test_patience*|budget|include/shpool/impl/waiters.h@none|s/(turn->slept > SHPOOL_TURN_PATIENCE)/0/
who_waits_asks_at_once|pools/test_wait_turns|plain|test_who_waits*|not in order|include/shpool/impl/waiters.h@none|s/return ((int32_t)before > 0) ? before : 0u;/return 0u;/
walk_believes_where_warps_begin|pools/test_damage|plain|test_where*|fault: \|not so: |allocators/bitmap/bitmap_walk.h|s/shpool_bitmap_last_start(view)) ? 6u : 0u/~0u) ? 6u : 0u/
walk_believes_the_last_word|pools/test_damage|plain|test_the_bit*|not so: |allocators/bitmap/bitmap_walk.h|s/(SHPOOL_BITMAP_SPAN . (w + 1u) >= view.word.0.)/0/
resize_forgets_the_end|pools/test_explore|plain|test_resize_to*|not so: \|broken\|is not live|allocators/bitmap/bitmap.h|/^SIMT_FN.*shpool_bitmap_end(/,/^}/s/if (end != SHPOOL_BITMAP_SPAN .*) {/if (1) {/
turn_comes_one_ticket_late|pools/test_wait_schedules|plain|test_two*|deadlock|include/shpool/impl/waiters.h@none|s/before = turn->ticket - simt_atomic_load/before = turn->ticket + 1u - simt_atomic_load/
turn_is_handed_on_in_order_only|pools/test_wait_schedules|plain|test_three*|deadlock\|not so: nobody|include/shpool/impl/waiters.h@none|s/^        (void)simt_atomic_add(turn->waiters + 4u, 1u, SIMT_RELAXED);/        if (turn->ticket == simt_atomic_load(turn->waiters + 4u, SIMT_RELAXED)) (void)simt_atomic_add(turn->waiters + 4u, 1u, SIMT_RELAXED);/
groups_keep_their_turn|pools/test_wait_schedules|plain|test_groups*|deadlock\|not so: nobody|include/shpool/impl/waiters.h@none|/^SIMT_FN void shpool_turn_end(/,/^}/s/if (shpool_turn_leads(turn)) {/if (shpool_turn_leads(turn) \&\& (turn->lanes == 0)) {/
who_gives_up_keeps_the_turn|pools/test_wait_schedules|plain|test_one_gives*|deadlock\|not so: nobody|include/shpool/wait.h|s/^    shpool_turn_end(&turn);/    if (ptr != NULL) { shpool_turn_end(\&turn); }/
turn_and_patience_never_end|pools/test_wait_schedules|plain|test_a_crowd*|budget|include/shpool/impl/waiters.h@none|s/(turn->slept > SHPOOL_TURN_PATIENCE)/0/;/^SIMT_FN void shpool_turn_end(/,/^}/s/if (shpool_turn_leads(turn)) {/if (shpool_turn_leads(turn) \&\& (turn->lanes == 0)) {/
clears_what_is_claimed|pools/test_group_misuse|plain|test_another*|invariant\|not so|allocators/bitmap/bitmap_row.h|/^SHPOOL_.*shpool_bitmap_clear_rest(/,/^}/s/keep.1. = shpool_bitmap_not(.*/keep[1].x = keep[1].y = 0;/
leaves_the_bit_for_more|pools/test_group_search|plain|test_random*|: word|allocators/bitmap/bitmap_row.h|/^SIMT_FN.*shpool_bitmap_tail(/,/^}/s/bits.x .= SHPOOL_BITMAP_MORE;/;/
row_leaves_its_marks|pools/test_row|plain|test_*|!=|allocators/bitmap/bitmap_row.h|/^SIMT_FN.*shpool_bitmap_retreat(/,/^}/s/simt_atomic_and_pairs(&amid.*/;/
row_leaves_its_first_marks|pools/test_row|plain|test_runs_of_many*|!=|allocators/bitmap/bitmap_row.h|/^SIMT_FN.*shpool_bitmap_retreat(/,/^}/s/if (front) {/if (0) {/
row_believes_the_search|pools/test_row|plain|test_*|!=|allocators/bitmap/bitmap_row.h|/^SIMT_FN.*shpool_bitmap_claim_at(/,/^}/s/return shpool_bitmap_has_room(was, bits) &&/return 1 \&\&/
row_claims_in_secret|pools/test_explore|plain|test_marks_of_pairs*|wrong refusal|allocators/bitmap/bitmap_row.h|/^SIMT_FN.*shpool_bitmap_claim_run(/,/^}/s/^    shpool_bitmap_claiming(view);$/    ;/;/^SIMT_FN.*shpool_bitmap_claim_run(/,/^}/s/^        shpool_bitmap_claimed(view, 0);$/        ;/;/^SIMT_FN.*shpool_bitmap_retreat(/,/^}/s/^    shpool_bitmap_claimed(view, 1u);$/    shpool_bitmap_released(view);/
row_is_undone_in_secret|pools/test_explore|plain|test_marks_of_pairs*|wrong refusal|allocators/bitmap/bitmap_row.h|/^SIMT_FN.*shpool_bitmap_retreat(/,/^}/s/shpool_bitmap_claimed(view, 1u);/shpool_bitmap_claimed(view, 0);/
row_stays_at_a_claimed_pair|pools/test_row|plain|test_a_lane*|!=|allocators/bitmap/bitmap_row.h|/^SHPOOL_.*shpool_bitmap_clear_rest(/,/^}/s/while (((keep.1..x .*/while (0) {/
first_lane_searches_exactly|pools/test_crowd|plain|test_a_group*|not so: (simt_lane|allocators/bitmap/bitmap_group.h|s/^        addr = shpool_bitmap_malloc_lead(view.base/        addr = shpool_bitmap_malloc_far(view.base/
row_is_searched_too_far|pools/test_row|plain|test_the_only*|!=|allocators/bitmap/bitmap_row.h|/^SIMT_FN.*shpool_bitmap_seek_whole(/,/^}/s/q - 3 : 0;/q - 2 : 0;/
frees_the_start_bit_first|pools/test_explore|plain|test_reuse_of_the_front*|not so: \|overlaps\|is not live|allocators/bitmap/bitmap.h|s/r->is_long ? 1u << r->i : take;/r->is_long ? 0x10001u << r->i : take;/
take_at_believes_the_spot|pools/test_explore|plain|test_short_runs_in_one_word|not so: \|invariant\|broken\|overlaps\|wrong refusal|allocators/bitmap/bitmap.h|s/if ((shpool_bitmap_unused(seen) . set) != set) {/if (0) {/
tiles_are_searched|pools/test_policy|plain|test_a_tile*|accesses|allocators/bitmap/bitmap_group.h|s/return shpool_bitmap_malloc_alone(view, word, wish);/return SHPOOL_BITMAP_NOWHERE;/
small_requests_are_searched|pools/test_policy|plain|test_a_small*|switches|allocators/bitmap/bitmap_group.h|s/return shpool_bitmap_malloc_alone(view, word, wish);/return SHPOOL_BITMAP_NOWHERE;/
all_pairs_are_read_in_vain|pools/test_policy|plain|test_a_tile_in*|accesses|allocators/bitmap/bitmap_group.h|s/[*]state_p |= SHPOOL_BITMAP_ALONE;/;/
warp_frees_and_forgets_where|pools/test_policy|plain|test_a_tile*|accesses|allocators/bitmap/bitmap_group_free.h|s/shpool_bitmap_set_next(base, word, first);/(void)word;/
each_lane_follows_for_itself|pools/test_warp_explore|plain|test_several*|divergence|allocators/bitmap/bitmap_group.h|s/return simt_shfl(SIMT_ALL_LANES, simt_atomic_load(base + SHPOOL_BITMAP_BEGIN, SIMT_RELAXED), 0);/return simt_atomic_load(base + SHPOOL_BITMAP_BEGIN, SIMT_RELAXED);/
follows_after_the_pool|pools/test_group_search|plain|test_a_long_run*|: word\|the model NULL\|not so: \|broken|allocators/bitmap/bitmap_alone.h|s/(wish.need > view.word\[0\] - first)/0/
settles_what_is_not_its_own|pools/test_warp_explore|plain|test_*refuse*|wrong refusal|allocators/bitmap/bitmap_group.h|s/(keep && (SHPOOL_BITMAP_PAIR . p < end)) ?/keep ?/
skip_forgets_the_pair_before|pools/test_group_search|plain|test_runs*|the model found|allocators/bitmap/bitmap_group.h|/^SIMT_FN.*shpool_bitmap_skip(/,/^}/s/(from - 1u < end) ? from - 1u : end/(from < end) ? from : end/
skip_goes_too_far|pools/test_group_search|plain|test_runs*|the model found|allocators/bitmap/bitmap_group.h|/^SIMT_FN.*shpool_bitmap_skip(/,/^}/s/const uint32_t q    = from + row/const uint32_t q    = from + 1u + row/
skip_ignores_claimed|pools/test_warp_explore|plain|test_a_far*|wrong refusal\|not so: |allocators/bitmap/bitmap_group.h|/^SIMT_FN.*shpool_bitmap_skip(/,/^}/s/^    .state_p .= .*;$//
hint_never_goes_back|pools/test_policy|plain|test_small_objects*|not so: shpool_largest|allocators/bitmap/bitmap_alone.h|s/p    = 0;/p    = simt_peek(view.base + SHPOOL_BITMAP_BEGIN) >> SHPOOL_BITMAP_HINT;/
hint_stays|pools/test_policy|plain|test_a_small*|switches|allocators/bitmap/bitmap_alone.h|s/shpool_bitmap_set_hint(view, p);/;/
look_passes_holes|pools/test_policy|plain|test_a_small*|switches|allocators/bitmap/bitmap_first.h|s/if (is_small && !bid.any)/if (is_small \&\& spread)/
pass_wants_the_whole_run|pools/test_group_search|plain|test_a_lone*|the first fit|allocators/bitmap/bitmap_alone.h|s#= (need + 1u) / 2u;#= need;#
look_begins_with_the_pair|pools/test_group_search|plain|test_a_lone*|the first fit|allocators/bitmap/bitmap_alone.h|s/p -= (p != 0);/;/
look_goes_on_too_far|pools/test_group_search|plain|test_a_lone*|the first fit|allocators/bitmap/bitmap_alone.h|s# - 1u - need / SHPOOL_BITMAP_PAIR;# + 2u;#
hint_after_the_last_start|pools/test_group_search|plain|test_a_lone*|not so: |allocators/bitmap/bitmap_group.h|s/((to < last) ? to : last)/to/
scan_forgets_the_last_pairs|pools/test_scan|plain|test_the_only*|not so: found|allocators/bitmap/bitmap_scan.h|s#/ 2u - SHPOOL_BITMAP_SCAN;#/ 2u - SHPOOL_BITMAP_SCAN - 1u;#
scan_forgets_what_was_read_twice|pools/test_scan|plain|test_the_only*|not so: found|allocators/bitmap/bitmap_scan.h|/ring.left += (ring.left != 0)/d;s/ring.left = (int)ring.last + 2 .*/ring.left = (int)ring.last + (int)SHPOOL_BITMAP_SCAN;/
scan_leaves_the_neighbourhood|pools/test_scan|plain|test_the_only*|not so: found|allocators/bitmap/bitmap_scan.h|s/} else if (at.shared) {/} else {/;s/^        } else {$/        } while (0) {/
scan_takes_the_wrong_pair|pools/test_scan|plain|test_the_only*|not so: |allocators/bitmap/bitmap_scan.h|s/!= 0) ? i : hit;/!= 0) ? i ^ 1u : hit;/
scan_misses_the_first_granules|pools/test_scan|plain|test_the_only*|not so: found|allocators/bitmap/bitmap_scan.h|s/return lasts . (0u - sieve.first)/return lasts \& (0u - sieve.first - sieve.first)/
scan_ends_at_a_gap|pools/test_scan|plain|test_gaps*|not so: (found|allocators/bitmap/bitmap_scan.h|s/ring->left = (int)(simt_keep.*/ring->left = 0;/
scan_looks_into_all_pairs|pools/test_scan|plain|test_a_full*|not so: looks|allocators/bitmap/bitmap_scan.h|s/return ~(used . .*/return ~0u;/
scan_goes_one_by_one|pools/test_scan|plain|test_a_full*|not so: looks|allocators/bitmap/bitmap_scan.h|s/steps--;/;/
crowd_begins_anywhere|pools/test_crowd|plain|test_homes*|FAILED|allocators/bitmap/bitmap.h|s/simt_mulhi(part + in, words)/simt_mulhi(in, words)/
crowd_does_not_spread|pools/test_crowd|plain|test_homes*|not within|allocators/bitmap/bitmap.h|s/simt_mulhi(part + in, words)/simt_mulhi(part, words)/
crowd_leaves_home|pools/test_crowd|plain|test_a_late*|not so: |allocators/bitmap/bitmap_crowd.h|s/simt_pin(home) . ~1u;/simt_pin(0);/
crowd_of_first_lanes|pools/test_crowd|plain|test_homes_of*|FAILED|allocators/bitmap/bitmap.h|s/(view.rank + warp)/view.rank/
crowd_does_not_search|pools/test_crowd|plain|test_a_late*|not so: reads|allocators/bitmap/bitmap.h|s/shpool_bitmap_take_shared(view, at.home, need)$/0u/
crowd_forgets_home|pools/test_crowd|plain|test_a_late*|not so: |allocators/bitmap/bitmap_crowd.h|s/turn < SHPOOL_BITMAP_RETRIES/turn < 0u/
crowd_begins_anew|pools/test_crowd|plain|test_a_late*|not so: |allocators/bitmap/bitmap_crowd.h|s/w = (spot . 32u) . ~1u;/w = 0;/
crowd_leaves_its_place|pools/test_crowd|plain|test_a_crowd*|not so: |allocators/bitmap/bitmap_crowd.h|s/w = (w + 2u < words) ? w + 2u : 0u;/w = 0u;/
crowd_looks_into_full_pairs|pools/test_crowd|plain|test_a_crowd*|not so: looks|allocators/bitmap/bitmap_crowd.h|s/<= most)/<= 32u)/
crowd_never_waits|pools/test_crowd|plain|test_a_full*|not so: |allocators/bitmap/bitmap_crowd.h|s/= (need.* > 2u . words);/= 0;/
all_wait_at_home|pools/test_crowd|plain|test_a_full*|not so: looks|allocators/bitmap/bitmap_crowd.h|s/= (need.* > 2u . words);/= 1u;/
two_threads_wait_at_home|pools/test_crowd|plain|test_a_full*|not so: looks|allocators/bitmap/bitmap_crowd.h|s/threads() > 2u . words);/threads() >= 2u * words);/
no_room_is_an_address|pools/test_crowd|plain|test_a_full*|not so: |allocators/bitmap/bitmap_crowd.h|s/return (addr != SHPOOL_BITMAP_NO_ROOM) . addr : 0u;/return addr;/
long_requests_wait_at_home|pools/test_crowd|plain|test_requests_beyond*|not so: looks|allocators/bitmap/bitmap_crowd.h|s/(need <= SHPOOL_BITMAP_SPAN) && //
search_covers_half_the_pool|pools/test_crowd|plain|test_a_crowd*|not so: granule_of|allocators/bitmap/bitmap_crowd.h|s/words . (2u . SHPOOL_BITMAP_SEARCHES) . 1u;/words \/ 2u;/
search_covers_too_little|pools/test_crowd|plain|test_a_crowd*|not so: granule_of|allocators/bitmap/bitmap_crowd.h|s/words . (2u . SHPOOL_BITMAP_SEARCHES) . 1u;/words \/ (2u * SHPOOL_BITMAP_SEARCHES);/
search_repeats_its_part|pools/test_crowd|plain|test_a_crowd*|not so: |allocators/bitmap/bitmap_crowd.h|s/w += 2u . part;/;/
search_leaves_the_pool|pools/test_crowd|plain|test_a_crowd*|not so: |allocators/bitmap/bitmap_crowd.h|s/w -= (w >= words) . words : 0u;/;/
pauses_are_too_short|pools/test_crowd|plain|test_void*|not so: longest|allocators/bitmap/bitmap.h|s/? void_searches : SHPOOL_BITMAP_LONGEST/? void_searches : SHPOOL_BITMAP_DOUBLED/
lost_claim_is_believed|pools/test_explore|plain|test_searches*|not so: \|overlaps|allocators/bitmap/bitmap.h|/^SIMT_FN.*shpool_bitmap_take_around(/,/^}/s/^        addr = shpool_bitmap_take_at(view, spot, need);$/        (void)shpool_bitmap_take_at(view, spot, need), addr = shpool_bitmap_payload(view, spot \/ 32u * SHPOOL_BITMAP_SPAN + spot % 32u);/
search_begins_anew|pools/test_crowd|plain|test_a_search*|not so: reads|allocators/bitmap/bitmap.h|s/p = first . SHPOOL_BITMAP_PAIR;/p = 0;/
search_skips_the_pair|pools/test_crowd|plain|test_a_search*|not so: granule_of|allocators/bitmap/bitmap.h|s/p = first . SHPOOL_BITMAP_PAIR;/p = first \/ SHPOOL_BITMAP_PAIR + 1u;/
across_in_two_steps|pools/test_crowd|plain|test_a_run*|not so: claims|allocators/bitmap/bitmap.h|s/^#if !defined(SHPOOL_BITMAP_AS)$/#if 0/
across_without_more|pools/test_crowd|plain|test_a_run*|not so: |allocators/bitmap/bitmap.h|s/set_low .= SHPOOL_BITMAP_MORE/set_low += 0u/
cross_forgets_to_undo|pools/test_cluster_explore|plain|test_two_blocks_across*|not so: \|invariant\|broken\|wrong refusal|allocators/bitmap/bitmap.h|s/^        (void)simt_atomic_and(a, ~set_low, SIMT_RELEASE);$/        ;/
thread_bitmap_forgets_the_next_unit|pools/test_conformance|plain|test_scripts_of_33_threads|invariant 1 broken\|not so\|overlaps\|fault|allocators/thread_bitmap/thread_bitmap.h|/^SIMT_FN.*shpool_thread_bitmap_free(/,/^}/s/if (((run >> 31) != 0) .. /if (0 \&\& /
arena_forgets_the_hole|pools/test_arena|plain|test_memory_comes*|not so: |allocators/arena/arena.h|s/shpool_arena_entry(view, index + 1u) . SHPOOL_ARENA_HOLE);/shpool_arena_entry(view, index + 1u));/
arena_pops_one_only|pools/test_arena|plain|test_memory_comes*|not so: |allocators/arena/arena.h|s/while ((entry . SHPOOL_ARENA_HOLE) != 0);/while (0);/
arena_believes_any_mark|pools/test_arena|plain|test_void*|not so: |allocators/arena/arena.h|s/if (shpool_arena_start(entry) != begin .*/if (0) {/
arena_keeps_a_dead_top|pools/test_arena|plain|test_*|not so: |allocators/arena/arena.h|/^SIMT_FN.*shpool_arena_back(/,/^}/s/if ((entry & SHPOOL_ARENA_HOLE) != 0) .*/if (0) {/
arena_unlocks_relaxed|pools/test_lock|tsan|test_every_schedule_of_two*|data race|allocators/arena/arena.h|s/SHPOOL_ARENA_LOCK, 0, SIMT_RELEASE)/SHPOOL_ARENA_LOCK, 0, SIMT_RELAXED)/
base_is_not_aligned|pools/test_geometry|plain|test_plans*|not so: |include/shpool/heap.h|/^SIMT_FN shpool_heap shpool_init(/,/^}/s/shpool_aligned_start(pool, simt_to_shared(base))/simt_to_shared(base)/
option_words_count_from_nothing|lib/test_plan|plain|test_spec_wins*|!=|lib/options.c|s/row->low + (uint64_t)position/(uint64_t)position/
plan_without_slack|pools/test_geometry|plain|test_plans*|fault: |lib/plan.c|s/return SHPOOL_SLACK_BYTES(pool->alignment) + /return /
refusal_without_a_reason|pools/test_report|plain|test_every*|refusals|include/shpool/heap.h|s/^        heap.view.flags .= reason << SHPOOL_FLAG_REFUSED_SHIFT;.*//
overflow_is_silent|pools/test_spill|plain|test_both*|!=|include/shpool/heap.h|s/^        bytes = ~(size_t)0;/        return NULL;/
empty_heap_counts_nothing|pools/test_report|plain|test_every*|mallocs|include/shpool/heap.h|s/^            heap = shpool_heap_that_counts(pool, heap);//
slot_not_returned|pools/test_spill|plain|test_slots*|!=|include/shpool/impl/report/spill.h|s/^        shpool_slot_return(view);$//
slot_refuses_for_ever|pools/test_spill|plain|test_a_refusal*|fits|include/shpool/impl/report/slots.h|s/~(unsigned long long)SHPOOL_SPILL_REFUSED);/~0ull);/
slot_loses_a_granule|pools/test_spill|plain|test_scripts_that_spill_to_slots|not so: \|usable\|fault|include/shpool/impl/report/slots.h|s/    shpool_granule_flip(map, at, end);/    shpool_granule_flip(map, at, end - 1u);/
wait_counts_each_attempt|pools/test_wait|plain|test_threads*|!=|include/shpool/wait.h|/^SIMT_FN.*shpool_malloc_wait(/,/^}/s/^            shpool_note_wait(heap);$/            ;/
missed_coalesce|pools/test_conformance|plain|test_full_pool*|invariant 3 broken|include/shpool/impl/heap/boundary_tags.h@warp_first_fit|/^SIMT_FN.*shpool_tags_give(/,/^}/s/if ((front & SHPOOL_TAGS_USED) == 0) {/if (0) {/
tree_forgets_its_parent|pools/test_conformance|plain|test_scripts_of_33_threads|invariant 4 broken\|not so\|overlaps\|fault|allocators/rbtree/rbtree.h|s/^        shpool_rb_inherit(view, block, next);$//
cluster_refuses_too_early|pools/test_cluster_explore|plain|test_room_that_moves*|wrong refusal|allocators/cluster_bitmap/cluster_bitmap.h|s/^        if (((again .*/        if (1) {/
cluster_never_borrows|pools/test_cluster|plain|test_who_borrows*|not so: |allocators/cluster_bitmap/cluster_bitmap.h|s/((view.flags . SHPOOL_FLAG_CLUSTER) != 0)/0/
cluster_borrows_from_the_first|pools/test_cluster|plain|test_who_borrows*|not so: |allocators/cluster_bitmap/cluster_bitmap.h|s/return (rank + turn < blocks) . .*/return turn;/
cluster_frees_in_its_own|pools/test_cluster_explore|plain|test_remote_frees|not so: \|fault|allocators/cluster_bitmap/cluster_bitmap.h|s/if (simt_addr_rank(addr) == simt_addr_rank(view.base)) {/if (1) {/
cluster_believes_any_rank|pools/test_cluster|plain|test_bad_frees*|fault\|not so: |allocators/cluster_bitmap/cluster_bitmap.h|s/if (rank >= simt_cluster_blocks()) {/if (0) {/
cluster_checks_its_own_only|pools/test_cluster|plain|test_check_sees*|not so: \|!=|include/shpool/impl/report/instrument.h|s/^        view.base = simt_map_cluster(view.base, simt_addr_rank(user));$//
cluster_runs_begin_anywhere|pools/test_cluster|plain|test_long_runs*|not so: at_end|allocators/bitmap/bitmap_row.h|/^SIMT_FN.*shpool_bitmap_malloc_any(/,/^}/s/if ((need >= SHPOOL_BITMAP_WHOLE) .*/if (0) {/
cluster_runs_begin_at_the_beginning|pools/test_cluster|plain|test_long_runs*|not so: at_end|allocators/bitmap/bitmap_row.h|s/((first != SHPOOL_BITMAP_NOWHERE) ? first . SHPOOL_BITMAP_PAIR : 0u)/0u/
cluster_borrowed_runs_begin_anywhere|pools/test_cluster|plain|test_long_runs*|not so: at_end|allocators/cluster_bitmap/cluster_bitmap.h|s/shpool_far_bitmap_malloc_any(/shpool_far_bitmap_malloc_far(/
cluster_exits_too_early|pools/test_cluster_explore|plain|test_no_block_leaves*|which has exited|include/shpool/heap.h|/^SIMT_FN void shpool_fini(/,/^}/s/^        simt_cluster_barrier();$/        ;/
cluster_does_not_wait_for_init|pools/test_cluster|plain|test_scripts_of_any*|faults\|fault:\|not so|include/shpool/heap.h|s/^    SHPOOL_BARRIER(pool->flags); .. every pool is ready.*/    simt_barrier();/
lock_release_relaxed|pools/test_lock|tsan|test_every_schedule_of_two*|data race|include/shpool/impl/heap/group_lock.h@warp_first_fit|s/base + SHPOOL_POOL_LOCK, 0, SIMT_RELEASE)/base + SHPOOL_POOL_LOCK, 0, SIMT_RELAXED)/
lock_acquire_relaxed|pools/test_lock|tsan|test_every_schedule_of_two*|data race|include/shpool/impl/heap/group_lock.h@warp_first_fit|s/simt_atomic_cas(lock, 0, 1, SIMT_ACQUIRE)/simt_atomic_cas(lock, 0, 1, SIMT_RELAXED)/
no_lock|pools/test_lock|plain|test_every_schedule_of_two*|overlaps\|broken\|not so\|wrong refusals\|fault|include/shpool/impl/heap/group_lock.h@warp_first_fit|s/return simt_atomic_cas(lock, 0, 1, SIMT_ACQUIRE);/return 0;/
batch_forgets_the_block_behind|pools/test_lock|plain|test_every_schedule_of_two*|invariant 2 broken\|not so\|overlaps\|fault|include/shpool/impl/heap/tags_batch.h@warp_first_fit|s/if (below == 0) {/if (0) {/
batch_gives_what_does_not_touch|pools/test_lock|plain|test_others_of_the_group*|invariant\|not so\|overlaps\|is not live\|fault|include/shpool/impl/heap/tags_batch.h@warp_first_fit|s/((front == block) .. (simt_lane() == leader))/1/
batch_cuts_before_it_sees|pools/test_lock|tsan|test_every_schedule_of_two*|data race|include/shpool/impl/heap/tags_batch.h@warp_first_fit|s/^            simt_warp_sync(lanes); .. the leader.*//
batch_leaves_its_headers|pools/test_lock|plain|test_double_frees_of_a_batch|not so: |include/shpool/impl/heap/tags_batch.h@warp_first_fit|s/^        shpool_tags_set_header(view, block, 0, 0, 0); .. or a second.*//
lock_words_are_believed|pools/test_damage|plain|test_a_lock*|not so: \|deadlock\|fault|include/shpool/impl/heap/group_lock.h@warp_first_fit|s/walk.broken = SHPOOL_BROKEN_LOCK;/walk.broken = 0;/
links_are_followed_unseen|pools/test_damage|plain|test_wild_links*|not so: \|fault\|budget|include/shpool/impl/report/instrument.h@warp_first_fit|s/? shpool_##_name##_walk(view) : walk; /? walk : walk; /
batch_unlocks_too_early|pools/test_lock|tsan|test_every_schedule_of_two*|data race|include/shpool/impl/heap/tags_batch.h@warp_first_fit|s/^    simt_warp_sync(lanes); .. what the others changed.*//
back_zone_not_looked_at|pools/test_checked|plain|test_a_word_outside*|not so: |include/shpool/impl/report/zones.h|s/shpool_zone_untouched(user + bytes, addr + usable);/1;/
group_follows_damage|pools/test_stray_calls|plain|test_while_groups*|seed [0-9]*: pool|include/shpool/impl/report/instrument.h|s/(leads == 0) .. shpool_counted_##_name##_sound(view))) {/1)) {/
marks_of_a_damaged_pool|pools/test_stray_calls|plain|test_between_marks|seed [0-9]*: pool|include/shpool/impl/report/instrument.h@arena|s/if (before.broken != 0) {/if (0) {/
freed_without_poison|pools/test_checked|plain|test_what_was_freed*|not so: |include/shpool/impl/report/zones.h|s/shpool_zone_poison(user, addr + usable);//
best_fit_takes_the_first|pools/test_policy|plain|test_which*|not so: |include/shpool/impl/heap/boundary_tags.h@warp_best_fit|s/if (!best .. (size == need)) {/if (1) {/
torn_entry_is_believed|lib/test_cache_disk|plain|test_damaged_files*|difference\|!=|lib/link/cache_disk.c|s/if (memcmp(&found, &header.digest, sizeof(found)) != 0)/if (0)/
entry_of_another_key|lib/test_cache_disk|plain|test_a_renamed*|difference\|!=|lib/link/cache_disk.c|s/(memcmp(&header->key, key, sizeof(.key)) == 0) .. //
deletes_the_latest|lib/test_cache_disk|plain|test_least_recently*|!=|lib/link/cache_disk.c|s/a->used.tv_sec < b->used.tv_sec/a->used.tv_sec > b->used.tv_sec/;s/a->used.tv_nsec < b->used.tv_nsec/a->used.tv_nsec > b->used.tv_nsec/
key_without_the_architecture|lib/test_cache|plain|test_whatever_differs*|difference\|!=|lib/link/link.c|s/^    add_part(&sha, &input->arch, .*//
locks_lost_in_fork|device/test_fork|plain|test_children*|!=|lib/lock.c|s/^    (void)pthread_atfork(.*//
fork_while_the_driver_loads|device/test_fork|plain|test_a_child*|!=|lib/driver.c|s/if (atomic_load_explicit(&users, .*/if (atomic_load_explicit(\&ready, memory_order_relaxed)) {/
plugin_of_another_abi|lib/test_plugin|plain|test_defects*|!=\|not in|lib/plugin.c|s/if ((info->abi != SHPOOL_ABI) .*/if (0) {/
plugin_of_another_copy|lib/test_plugin|plain|test_defects*|!=\|not in|lib/plugin.c|s/if (info->library != library)/if (0)/
plugin_taken_by_halves|lib/test_plugin|plain|test_taken*|!=\|not in|lib/registry.c|s/^            added.count = before;$//
half_transpose_by_rows|loadstore/test_mgpu|plain|test_*|not so: |include/shpool/loadstore/thread.cuh|s/((NT . i + tid < HALF) == (half == 0))/((i < VT - VT \/ 2) == (half == 0))/
copy_forgets_its_tail|loadstore/test_own|plain|test_*| != |include/shpool/loadstore/copy_engine.cuh|s/((tid >= 16) .. ((tid - 16) . Piece < tail))/(0)/
copy_does_not_wait|loadstore/test_own|plain|test_*| != |include/shpool/loadstore/copy_engine.cuh|s/^        copies.wait();$//
gate_does_not_wait|loadstore/test_own|plain|test_a_tile*|mbarrier|include/shpool/loadstore/bulk.cuh|s/^        gate.wait();$//
load_of_two_ignores_sync|loadstore/test_mgpu|plain|test_*|not so: |include/shpool/loadstore/merge.cuh|/^SIMT_FN void load2_to_reg(/,/^}/s/^    impl::barrier_if(sync);$//
after_frees_at_once|pools/test_after_explore|plain|test_copies_into*|not so: |include/shpool/after.h|/^SIMT_FN void shpool_free_after(/,/^}/s/if (simt_mbar_test(mbar, parity)) {/if (1) {/
after_frees_readers_at_once|pools/test_after_explore|plain|test_a_reader*|not so: |include/shpool/after.h|/^SIMT_FN void shpool_free_after(/,/^}/s/if (simt_mbar_test(mbar, parity)) {/if (1) {/
after_forgets_to_free|pools/test_after|plain|test_no_copy*|not so: |include/shpool/after.h|s/^            shpool_free(after->heap, shpool_after_pointer(entry));$//
after_asks_the_other_parity|pools/test_after|plain|test_no_copy*|not so: \|overlap|include/shpool/after.h|s/simt_mbar_test(entry.z, entry.w)/simt_mbar_test(entry.z, entry.w ^ 1u)/
after_waits_for_the_other_parity|pools/test_after_explore|plain|test_copies_into*|not so: \|deadlock|include/shpool/after.h|s/simt_mbar_wait(oldest.z, oldest.w)/simt_mbar_wait(oldest.z, oldest.w ^ 1u)/
after_ends_no_group|pools/test_after_explore|plain|test_copies_out*|not so: \|has not waited|include/shpool/after.h|s/^    simt_copy_commit();$//
after_group_is_not_waited_for|pools/test_after|plain|test_copies_out*|not so: \|has not waited|include/shpool/after.h|s/^    simt_copy_wait_read(0);$//
after_counts_a_group_too_many|pools/test_after|plain|test_copies_out*|not so: |include/shpool/after.h|s/return pending - 3u;/return pending;/
after_full_queue_is_not_waited_for|pools/test_after|plain|test_no_copy*|not so: \|fault\|overlap|include/shpool/after.h|/^SIMT_FN int shpool_after_put(/,/^}/s/(void)shpool_after_wait(after);$/;/
after_leaves_holes|pools/test_after|plain|test_no_copy*|not so: \|fault\|invariant|include/shpool/after.h|s/after->entries + 16u . kept, entry/after->entries + 16u * i, entry/
after_malloc_gives_up|pools/test_after|plain|test_a_tile*|not so: |include/shpool/after.h|s/while ((ptr == NULL) .*/while (0) {/
after_malloc_without_fence|pools/test_after|plain|test_no_copy*|after the last|include/shpool/after.h|s/^    simt_fence_async();$//
bulk_store_without_fence|loadstore/test_paths|plain|test_shared_to_global|after the last|include/shpool/impl/wide.h|s/^    simt_fence_async(); .. as in.*//
after_keeps_its_queue|pools/test_after|plain|test_the_queue*|not so: |include/shpool/after.h|s/^        shpool_free(after->heap, simt_from_shared(after->entries));$//
stage_does_not_wait|pools/test_stage|plain|test_memory_passes*|not so: \|fault|include/shpool/stage.cuh|s/(lanes, done . fits)/(lanes, fits)/
stage_of_a_warp_does_not_wait|pools/test_stage|plain|test_a_kept_stage_of*|not so: \|fault|include/shpool/stage.cuh|s/if (!shpool_stage_all(lanes, done)) {/if (0) {/
stage_is_not_written_again|pools/test_stage|plain|test_a_slot_gets*|not so: \|fault|include/shpool/stage.cuh|s/^            shpool_stage_give(p->next.at, memory);$/            ;/
stage_takes_what_is_not_released|pools/test_stage|plain|test_a_kept*|not so: \|fault|include/shpool/stage.cuh|/^SIMT_FN uint32_t shpool_stage_take(/,/^}/s/^    if (done != 0) {/    done = 1;\n    if (1) {/
stage_asks_the_other_round|pools/test_stage|plain|test_a_thread*|not so: \|fault\|budget\|deadlock|include/shpool/stage.cuh|/^SIMT_FN uint32_t shpool_stage_take(/,/^}/s/slot.parity/(slot.parity ^ 1u)/g
stage_without_fence|pools/test_stage|plain|test_a_thread*|after the last|include/shpool/stage.cuh|s/^    simt_fence_async_shared();$//
stage_takes_what_is_too_small|pools/test_stage|plain|test_a_thread*|not so: \|fault|include/shpool/stage.cuh|s/(memory.bytes - bytes <= bytes) \&\&/1 \&\&/
stage_forgets_to_free|pools/test_stage|plain|test_a_thread*|not so: \|budget\|deadlock|include/shpool/stage.cuh|/^SIMT_FN void shpool_stage_free(/,/^}/s/^        shpool_free(p->heap, simt_from_shared(data));$/        ;/
stage_keeps_memory_of_a_slot|pools/test_stage|plain|test_a_kept*|not so: \|fault\|budget|include/shpool/stage.cuh|s/^            shpool_stage_give(slot.at, none);$/            ;/
stage_without_a_reason|pools/test_stage|plain|test_a_refused*|not so: |include/shpool/stage.cuh|s/^            stage.full = memory.bytes;$/            ;/
stage_waits_for_what_cannot_come|pools/test_stage|plain|test_a_refused*|reason == |include/shpool/stage.cuh|s/ || (reason != SHPOOL_REFUSED_NONE);/;/
stage_of_lanes_that_disagree|pools/test_stage|plain|test_lanes_that*|not so: \|fault\|deadlock|include/shpool/stage.cuh|s/^        return SHPOOL_REFUSED_GROUP;$/        ;/
stage_is_known_to_one_lane|pools/test_stage|plain|test_a_warp*|not so: \|fault|include/shpool/stage.cuh|s/^    simt_atomic_store(slot + SHPOOL_STAGE_MEMORY, memory.data, SIMT_RELAXED);$/    if (simt_lane() == 0)&/
stamp_not_compared|lib/test_join|plain|test_linker_of_the_same*|!=|lib/link/join.c|s/return (made == 0) .*/return 1;/
random_without_rejection|device/test_array|plain|test_draws_that_would*|!=|device/arrays/random.c|s/while ((uint32_t)product < reject)/while (0)/
random_over_another_number|device/test_array|plain|test_floats_are*|Assert\|not TRUE\|value ==|device/arrays/random.c|s/const double unit = 1.0 . 4294967296.0;/const double unit = 1.0 \/ 4294967295.0;/
sort_forgets_signs_of_floats|device/test_array|plain|test_sorted*|sum|device/arrays/sort.c|s/(rule.is_float && (value & rule.sign)) . .value/0 ? ~value/
format_with_two_conversions|device/test_array|plain|test_formats*|!=|device/arrays/print.c|s/if (at.1 + text_length(at + 1). != /if (0 \&\& at[1 + text_length(at + 1)] != /
kernel_without_a_barrier|device/test_fill|plain|test_any_schedule*|difference|device/arrays/fill_kernels.h|s/^        simt_barrier();$/        ;/
kernel_reuses_its_counts|device/test_fill|plain|test_any_schedule*|difference|device/arrays/fill_kernels.h|s/simt_barrier(); .. the counts are read.*//
fill_sets_what_is_not_aligned|device/test_fill|plain|test_fill_with*|!=|device/arrays/fill.c|s/((uintptr_t)ptr % n == 0) &&/1 \&\&/
copy_is_not_ordered_after_the_source|device/test_buffer|plain|test_copies_between_streams*|is known|device/arrays/buffer.c|s/^    status = order_after(to, from);/    status = SHPOOL_OK;/
copy_leaves_the_source_unguarded|device/test_buffer|plain|test_copies_between_streams*|is known|device/arrays/buffer.c|s/? keep_source(to, from) : status/? SHPOOL_OK : status/
buffer_without_its_context|device/test_buffer|plain|test_a_buffer_outlives*|!=|device/arrays/buffer.c|s/buffer->context = shpool_context_ref(context);/buffer->context = context;/
hook_ignores_record_stream|device/test_hooks|plain|test_record_stream*|is known|device/hooks.c|s/(shpool_device_record_stream(allocator, ptr, stream) == SHPOOL_OK)/1/
hook_keeps_idle_memory_above_the_fraction|device/test_hooks|plain|test_the_memory*|holds|device/hooks.c|s/^        keep_limit(allocator, limit);$/        ;/
after_counts_waits_as_failures|pools/test_after|plain|test_who_waits*|!=|include/shpool/after.h|s/^        shpool_note_wait(heap);.*$//
cycles_of_a_block_overflow|pools/test_wait|plain|test_cycles*|!=|include/shpool/impl/report/area.h|s/if (before + units < units) {/if (0) {/
after_copies_are_not_waited_for|pools/test_after_explore|plain|test_small*|not so: |include/shpool/after.h|s/shpool_after_wait_copies(after->copies)/1/
after_counts_a_copy_too_many|pools/test_after|plain|test_small*|not so: \|overlap|include/shpool/after.h|s/return pending - 2u;/return pending;/
after_copies_in_place_are_not_waited_for|pools/test_after|plain|test_small*|not so: \|overlap|include/shpool/after.h|/^SIMT_FN void shpool_free_after_copies(/,/^}/s/^        simt_copy16_wait(0);$//
trace_forgets_what_it_drops|pools/test_trace|plain|test_what_has_no_room*|dropped 16|lib/trace.c|s/p.dropped = cursor - p.used;/p.dropped = 0;/
trace_notes_frees_too_late|pools/test_trace|plain|test_the_order*|overlap\|nothing is live|include/shpool/impl/report/instrument.h|s/call.record = shpool_trace_free(view, shpool_trace_place(view, user), 0, site); /call.record = NULL; /;s/shpool_trace_refused(call->record, reason); /(void)shpool_trace_free(view, shpool_trace_place(view, call->addr + shpool_zone_front(view.flags)), 0, 0); /
trace_notes_what_is_spilled_twice|pools/test_trace|plain|test_the_file*|expected:|include/shpool/impl/report/trace.h|s/((user == 0) && ((view.flags . (uint32_t)SHPOOL_FLAG_SPILL) != 0))/0/
trace_shares_its_file|pools/test_trace|plain|test_two_pools*|!=|lib/trace.c|s/(flock(at, LOCK_EX . LOCK_NB) != 0)/0/
device_order_without_a_wait|device/test_bins|plain|soft makes*|is known|device/base/events.c|s/result = cu->stream_wait(stream, timeline->ring.place..event, 0);/result = CU_SUCCESS;/
device_events_are_done_at_once|device/test_bins|plain|*|is known|device/base/events.c|s/timeline->ring.timeline->first..event) != CU_SUCCESS) {/timeline->ring[timeline->first].event) < 0) {/
device_moves_what_others_use|device/test_windows|plain|other streams do not*|driver_bytes>=|device/bins/vmm/holes.c|s/((timeline != NULL) .. shpool_timeline_same(block->last, timeline)));/1);/;s/first, count, piece->last, piece->seq);/first, count, NULL, 0);/
device_unmaps_what_is_in_use|device/test_ranges|plain|*|has not finished with|device/bins/vmm/places.c|/^int bins_place_is_done(/,/^}/s/return place->last == NULL;/return 1;/
device_pages_double_in_use|device/test_ranges|plain|not while a place*|has not finished with|device/bins/vmm/double.c|s/is_elsewhere(&slab->place.i.) .. !bins_place_is_done(&slab->place.i.)/is_elsewhere(\&slab->place[i]) \&\& (i > slab->places)/
device_pages_double_for_small_blocks|device/test_ranges|plain|not for many*|granule_create=70|device/bins/vmm/double.c|s/(s.small > bytes . 2);/0;/
device_pages_double_above_pieces|device/test_ranges|plain|not for more*|driver_bytes=134M|device/bins/vmm/double.c|s/(s.pieces + 1)/(s.pieces * 0)/
device_pages_double_for_the_small_heap|device/test_ranges|plain|once where most*|granule_create>=|device/bins/vmm/double.c|s/(g->bytes > 2 . g->least)/(0)/
device_pages_double_for_a_failure|device/test_ranges|plain|not for one*|driver_bytes=|device/bins/vmm/double.c|s/((need + pair - 1) . pair <= (limit - held) . pair)/1/
device_pages_double_alone|device/test_ranges|plain|with several ranges*|granule_create<=|device/bins/vmm/range.c|s/few = whole(bins, bins_round_up(bins, need));/few = bins_round_up(bins, need) + bins->granules.bytes;/
device_large_blocks_fit_best|device/test_train|plain|test_virtual*|reserved bytes|device/bins/block.c|s/return a->address < b->address;/return a->bytes < b->bytes;/
device_lanes_keep_large_blocks|device/test_train|plain|test_virtual*|reserved bytes|device/bins/bins.c|s/(block->seq >= lane->steady)/1/
device_pages_double_above_the_peak|device/test_train|plain|test_virtual*|reserved bytes|device/bins/vmm/double.c|s/(more > g->count . FEW_HALVES) .. (held > bins_most(bins))/0/
device_moves_into_holes|device/test_train|plain|test_virtual*|caches that grow|device/bins/vmm/site.c|s/s->top = bins_is_hole(highest) .. (above == NULL);/s->top = 0;/
device_pages_double_past_the_limit|device/test_ranges|plain|not where the rest*|ran out|device/bins/vmm/double.c|s/((limit - held) % pair < g->bytes)/1/
device_pages_double_by_halves|device/test_ranges|plain|halves get*|granule_create=|device/bins/vmm/double.c|s/^            count++;/            count += (s == NULL);/
device_pages_double_with_an_odd_one|device/test_ranges|plain|an odd*|driver_bytes=|device/bins/vmm/double.c|s/((g->spares % 2 != 0) .. (bins_granules_release(bins, 1) == 0))/(g->spares == SIZE_MAX)/
device_large_pages_keep_more|device/test_windows|plain|the second time*|driver_bytes|device/bins/vmm/granules.c|s/(uint64_t)bins->granules.least;/(uint64_t)bins->granules.bytes;/
device_forgets_who_used_it|device/test_windows|plain|the rest of*|is known|device/bins/vmm/grow.c|s/^    if (busy) {/    if (busy \&\& (granule == 0)) {/
device_windows_keep_granules|device/test_windows|plain|the second time*|it is|device/bins/vmm/window.c|s/^        if (home != NULL) {/        if ((home != NULL) \&\& (count == 0)) {/
device_takes_no_guests|device/test_windows|plain|small requests*|granule_create=0|device/bins/vmm/grow.c|s/(s->calls > 0) ? take_guest(/(s->calls == BINS_NEVER) ? take_guest(/
device_windows_forget_peers|device/test_windows|plain|peers reach windows|access:x=3|device/bins/vmm/peers.c|s/(slab->place.end..granule != NULL)/(slab->place[end].granule != NULL) \&\& (slab->place[end].granule->home == \&slab->place[end])/
device_lanes_do_not_merge|device/test_shards|plain|test_neighbours*|calls=0|device/bins/trim.c|s/if ((seq > 0) .. !bins_is_done(block)) {/if (seq == 1) {/
device_never_waits|device/test_waits|plain|test_a_wait*|!=|device/bins/wait.c|s/while (waited < longest) {/while ((waited < longest) \&\& (longest == 0)) {/
device_waits_to_save_a_call|device/test_waits|plain|test_it_does_not*|!=|device/bins/vmm/site.c|s/(s.calls > NO_WAIT)/(s.calls > 0)/
device_reuses_lanes_in_use|device/test_shards|plain|test_lanes*|!=|device/base/timeline.c|s/have_finished(table, t)) {/(have_finished(table, t) >= 0)) {/
device_looks_into_one_lane|device/test_shards|plain|test_memory*|!=|device/bins/slow.c|s/^    return (t != &lane->timeline) ? (bins_lane ..t : NULL;/    return (t == NULL) ? (bins_lane *)t : NULL;/
device_merges_what_has_no_order|device/test_trim|plain|test_*|is known|device/bins/block.c|s/return (lower->last == NULL) .. (upper->last == NULL) .. (lower->last == upper->last);/return 1;/
device_forgets_record_stream|device/test_bins|plain|named streams*|b!=a|device/bins/use.c|s/use->seq = mark(bins, use, .*);/use->seq = 0;/
device_waits_without_a_lock|device/test_streams|plain|test_*|is_done|device/base/timeline.c|s/^    shpool_mutex_lock(&table->sync_lock);$//;s/^    shpool_mutex_unlock(&table->sync_lock);$//
device_lanes_of_lost_streams_stay|device/test_streams|plain|test_*|count|device/base/timeline.c|s/t->seq += (t->named != 0);/t->seq++;/
device_touches_the_legacy_stream|device/test_graph|plain|the legacy stream*|legacy stream is used|device/base/events.c|s/return captures .. (result != CU_SUCCESS);/return captures;/
device_asks_a_capturing_stream|device/test_capture|plain|test_*|legacy stream is used|device/base/events.c|/^static int is_off_limits(/,/^}/s/^    return .*;/    return (table == NULL) \&\& (stream == NULL);/
device_limit_is_one_byte_less|device/test_open|plain|limit refuses*|layer limit allows|device/layers/limit.c|s/(live > atomic_load(&l->limit) - bytes)/(live >= atomic_load(\&l->limit) - bytes)/
device_plugin_taken_by_halves|device/test_plugin|plain|test_*|!=|device/providers.c|s/^            added.count = before;$//
order_not_looked_at|coalesce/test_plan|plain|test_refusals|FAILED  ] test_refusals|coalesce/plan/decide.c|s/return i;$/return COALESCE_NO_ACCESS;/
volatile_is_nothing|coalesce/test_plan|plain|test_refusals|FAILED  ] test_refusals|coalesce/plan/decide.c|s/(flags & (COALESCE_VOLATILE | COALESCE_ATOMIC)) != 0/0/
places_not_kept|coalesce/test_plan|plain|test_groups|FAILED  ] test_groups|coalesce/plan/decide.c|s/^    d->place\[access\] = place;/    ;/
all_stores_apart|coalesce/test_plan|plain|test_refusals|FAILED  ] test_refusals|coalesce/plan/groups.c|/^int coalesce_may_alias/,/^}/s/    return 1;/    return 0;/
holes_are_copied|coalesce/test_run|plain|test_run_forced|of array \|rewritten: |coalesce/plan/decide.c|s/return COALESCE_HOLES_STORED;/return COALESCE_REWRITTEN;/
holes_are_stored|coalesce/test_run|plain|test_run_by_the_cost_rule|of array \|rewritten: |coalesce/plan/warp.c|s/lanes |= (uint32_t)(t->record->covered >> word & 1) << lane;/lanes |= 1u << lane;/
units_have_holes|coalesce/test_run|plain|test_run_by_the_cost_rule|of array \|rewritten: |coalesce/plan/record.c|s/if ((stored != 0) \&\& (stored != all)) {/if (0) {/
units_between_lanes|coalesce/test_run|plain|test_run_by_the_cost_rule|of array \|rewritten: |coalesce/plan/warp.c|s/ || (4 . t.unit % t.next != 0)//
last_word_unread|coalesce/test_plan|plain|test_refusals|FAILED  ] test_refusals|coalesce/plan/decide.c|s/return (end < record)/return (0)/
twice_is_once|coalesce/test_plan|plain|test_refusals|FAILED  ] test_refusals|coalesce/plan/decide.c|s/if (offset < end) {/if (0) {/
special_is_plain|coalesce/test_plan|plain|test_refusals|FAILED  ] test_refusals|coalesce/plan/groups.c|s/return COALESCE_SPECIAL_ACCESS;/return COALESCE_REWRITTEN;/
descending_is_fine|coalesce/test_plan|plain|test_refusals|FAILED  ] test_refusals|coalesce/plan/decide.c|s/return COALESCE_NEGATIVE_STRIDE;/(void)0;/
any_copy|coalesce/test_plan|plain|test_groups|FAILED  ] test_groups|coalesce/plan/plan.c|s/(to_offset != from_offset)/0/;s/(store->copied_from != loads->member\[k\])/0/
runs_do_not_matter|coalesce/test_plan|plain|test_refusals|FAILED  ] test_refusals|coalesce/plan/groups.c|s/(access.i..run == access.i - 1..run)/1/
barriers_do_not_matter|coalesce/test_run|plain|test_run_by_the_cost_rule|declared twice|coalesce/ptx/flow.c|/^int ptx_is_fence/,/^}/s/return 1;/return 0;/
labels_do_not_matter|coalesce/test_run|plain|test_run_by_the_cost_rule|of array \|rewritten: |coalesce/ptx/flow.c|/^static void number_runs/,/^}/s/            run++;/            ;/
registers_do_not_matter|coalesce/test_run|plain|test_run_by_the_cost_rule|of array \|rewritten: |coalesce/ptx/check.c|/^static int is_touched/,/^}/s/return ptx_is_touched.*/return 0;/
all_is_uniform|coalesce/test_run|plain|test_run_by_the_cost_rule|of array \|rewritten: |coalesce/ptx/uniform.c|s/return (known != NULL) \&\& known->uniform;/return 1;/
guards_do_not_matter|coalesce/test_run|plain|test_run_by_the_cost_rule|of array \|rewritten: |coalesce/ptx/access.c|s/? COALESCE_CONDITIONAL : 0u/? 0u : 0u/
halves_exchanged|coalesce/test_run|plain|test_run_by_the_cost_rule|of array \|rewritten: |coalesce/ptx/print.c|s/{~w%u, ~w%u}, ~d%u;.n", op->value, op->value + 1/{~w%u, ~w%u}, ~d%u;\\n", op->value + 1, op->value/
offsets_of_the_first|coalesce/test_run|plain|test_run_by_the_cost_rule|of array \|rewritten: |coalesce/ptx/emit.c|s/(uint64_t)distance + (uint64_t)address_of(j, anchor)->value/(uint64_t)distance/
unit_of_four_always|coalesce/test_run|plain|test_run_by_the_cost_rule|of array \|rewritten: |coalesce/plan/record.c|s/uint32_t unit = (record->words % 4 == 0) ? 4 :.*/uint32_t unit = 4;/
loads_into_the_address|coalesce/test_run|plain|test_run_by_the_cost_rule|of array \|rewritten: |coalesce/ptx/check.c|s/(reg == ptx_base_of(planned->module, at(planned, place))) ||//
pieces_not_permuted|coalesce/test_run|plain|test_run_by_the_cost_rule|of array \|rewritten: |coalesce/plan/warp.c|s/^        permute(&t, [01]);//
exchange_with_oneself|coalesce/test_run|plain|test_run_by_the_cost_rule|of array \|rewritten: |coalesce/plan/warp.c|s/choose(t->warp, low, .b, .a), away)/choose(t->warp, low, *b, *a), 0)/
narrow_parts_overlap|coalesce/test_run|plain|test_run_by_the_cost_rule|of array \|rewritten: |coalesce/ptx/print.c|s/"%u, %u;.n", 8 . at, 8 . field->bytes/"%u, %u;\\n", 8 * at, 8/
narrow_has_no_sign|coalesce/test_random|plain|test_random_kernels|FAILED  ] test_random_kernels|coalesce/ptx/emit.c|s/return module->text.begin. == 's';/return 0;/
narrow_is_aligned|coalesce/test_warp|plain|test_guard_of_narrow_fields|FAILED  ] test_guard_of_narrow_fields|coalesce/plan/warp.c|s/(align == 4) \&\& !g->record->is_narrow/align == 4/
words_are_filled|coalesce/test_plan|plain|test_narrow_fields|FAILED  ] test_narrow_fields|coalesce/plan/decide.c|s/        return COALESCE_PART_OF_WORD;/        ;/
any_alignment|coalesce/test_run|plain|test_run_by_the_cost_rule|of array \|rewritten: |coalesce/plan/record.c|s/return 4 . coalesce_record_unit(record);/return 4;/
overlap_by_a_unit|coalesce/test_warp|plain|test_guard_of_overlap|FAILED  ] test_guard_of_overlap|coalesce/plan/warp.c|s/2 . bytes - 2)/2 * bytes - 18)/
a_tile_is_nc_if_its_first_load_is|coalesce/test_plan|plain|test_loads_in_tiles|FAILED  ] test_loads_in_tiles|coalesce/plan/rows.c|s/(((access.i..flags . access.first..flags) & COALESCE_NONCOHERENT) == 0) &&/1 \&\&/
near_is_apart|coalesce/test_run|plain|test_run_by_the_cost_rule|of array \|rewritten: |coalesce/ptx/apart.c|s/(long long)(2 . apart->bytes - 1)/0LL/
the_other_way_is_apart|coalesce/test_run|plain|test_run_by_the_cost_rule|of array \|rewritten: |coalesce/ptx/apart.c|s/apart->bytes - 1))/0))/
one_question_will_do|coalesce/test_run|plain|test_run_by_the_cost_rule|of array \|rewritten: |coalesce/ptx/apart.c|s/or.pred ~near, ~near, ~too/or.pred ~near, ~near, ~near/
addresses_come_later|coalesce/test_run|plain|test_run_by_the_cost_rule|of array \|rewritten: |coalesce/ptx/apart.c|s/i < region->firsts; i++) {$/i < 0; i++) {/
stores_before_the_barrier|coalesce/test_warp|plain|test_stores_of_every_size|FAILED  ] test_stores_of_every_size|coalesce/plan/warp.c|s/^    sync(warp); .. nothing that.*//
BUGS
}

# One file for each bug that is selected: its fields, a line each.
split() {
    bugs | grep -F -e "$words" | awk -F'|' -v to="$work/bugs" -v builds=" $builds " '
        { gsub(/\\\|/, "\001") }
        index(builds, " " $3 " ") {
            for (i = 8; i <= NF; i++) { $7 = $7 "|" $i } # a sed script may have more of them
            for (i = 2; i <= 7; i++) { gsub("\001", "\\|", $i); print $i >(to "/" $1) }
            close(to "/" $1)
            print $1
        }' >"$work/names"
}

cflags_of() {
    [ "$1" = tsan ] && echo "-O0 -fsanitize=thread" || echo "-O0"
}

# What includes an allocator is large: clang takes half of gcc's time for it, and more for the rest.
compiler_for() { # BUILD DEPENDENCIES
    compiler=$CC
    [ "$1" != plain ] || ! grep -q allocators/ "$2" || compiler=$quick
}

compile() { # FLAGS... : the folders of $tree come first
    # the children that bugs in test_fork make wait end after FORK_SECONDS
    ${compiler:-$CC} -std=gnu11 -w -DHAVE_CONFIG_H -DFORK_SECONDS=2u -I"$build" -I"$tree/include" \
        -I"$tree" -I"$src/include" -I"$src" -I"$build/include" $cmocka_cflags "$@"
}

compile_cxx() { # the same for C++, where templates make optimising slow
    $quick_cxx -std=c++17 -O0 -w -I"$tree/include" -I"$src/include" \
        -I"$src/include/shpool/compat" -I"$src" -I"$build/include" \
        $cmocka_cflags "$@"
}

copy_tree() { # FILE: a link, and to its neighbours, which it may include by their bare names
    mkdir -p "$tree/${1%/*}" "$tree/include/shpool" || return 1
    case $1 in
    include/*) ln -s "$src/$1" "$tree/$1" ;;
    *) ln -s "$src/${1%/*}"/* "$tree/${1%/*}" ;;
    esac || return 1
    case $1 in
    allocators/*) ln -s "$tree/allocators" "$tree/include/shpool/allocators" ;;
    esac
}

plant() { # FILE SCRIPT: each command must change something
    printf '%s\n' "$2" | sed 's/;\(s\/\|\/^\)/\n\1/g' >"$tree/commands"
    while IFS= read -r command; do
        sed "$command" "$tree/$1" >"$tree/patched" || return 1
        if cmp -s "$tree/patched" "$tree/$1"; then
            echo "sed pattern no longer matches $1: $command" >&2
            return 1
        fi
        mv "$tree/patched" "$tree/$1" # in place of the link
    done <"$tree/commands"
}

includes() { # DEPENDENCIES FILE
    grep -q "/${2##*/}\$\|/${2##*/} " "$1"
}

source_of() { # PROGRAM: its file, and the allocator if others have the same file
    case $1 in
    *_planes) echo "-DSHPOOL_INLINE=planes $src/tests/${1%_planes}.c" ;;
    *) echo "$src/tests/$1.c" ;;
    esac
}

test_of() { # PROGRAM BUILD: its object without a bug
    echo "$work/$2_$(echo "$1" | tr / _)"
}

# What the test includes, once for each build.  Nothing here is optimised: most of the time goes
# into compiling.
program() { # PROGRAM BUILD
    tree=$src
    [ -f "$src/tests/$1.cc" ] || compile -MM $(source_of "$1") >"$(test_of "$1" "$2").d"
}

# The test with the bug, or without it if it does not include that file.
build_test() { # PROGRAM BUILD FILE
    test=$(test_of "$1" "$2")
    compiler_for "$2" "$test.d"
    if includes "$test.d" "$3"; then
        compile $(cflags_of "$2") -c $(source_of "$1") -o "$tree/test.o"
        return
    fi
    if [ ! -f "$test.o" ]; then
        compile $(cflags_of "$2") -c $(source_of "$1") -o "$tree/plain" &&
            mv "$tree/plain" "$test.o" || return 1
    fi
    cp "$test.o" "$tree/test.o"
}

# What has the bug is compiled again, and the linker takes it before it looks for the one of the
# build.  A bug of an allocator goes into that one alone, also where others include its file; for
# the tests of clusters also into the other one; and only into the test if its kernels inline the
# allocator.  A bug of a header goes into the allocators that its row names.
build_bug() { # PROGRAM BUILD FILE ALLOCATORS
    if [ -f "$src/tests/$1.cc" ]; then
        compile_cxx "$src/tests/$1.cc" "$tests_library" "$library" -o "$tree/test" \
            $cmocka_libs -lpthread -ldl -lm
        return
    fi
    build_test "$1" "$2" "$3" || return 1
    case $1:$3 in
    pools/test_cluster*:*) allocators="bitmap cluster_bitmap" ;;
    *:allocators/*)
        allocators=$(echo "$3" | cut -d/ -f2)
        ! nm "$tree/test.o" | grep -q " t shpool_${allocators}_malloc\$" || allocators=
        ;;
    *:include/*) allocators=$4 ;;
    *) allocators= ;;
    esac
    for module in $allocators; do
        if [ "$module" != none ] && includes "$work/$module.d" "$3"; then
            from=$tree/allocators
            [ -d "$from/$module" ] || from=$src/allocators
            compiler_for "$2" "$work/$module.d"
            compile $(cflags_of "$2") -c "$from/$module/$module.c" -o "$tree/$module.o" || return 1
        fi
    done
    compiler=$CC
    case $3 in
    *.c) compile $(cflags_of "$2") -c "$tree/$3" -o "$tree/lib.o" || return 1 ;;
    esac
    wraps=
    ! nm "$tree/test.o" | grep -q ' U fault_sweep' ||
        wraps=$(nm "$tests_library" | sed -n 's/.* T __wrap_\(.*\)/-Wl,--wrap=\1/p')
    # shellcheck disable=SC2046,SC2086 # words
    $CC $(cflags_of "$2") -rdynamic -Wl,-S $wraps "$tree"/*.o \
        $([ "$2" = plain ] || echo "$work/tsan.a") $(ls "$work/ptx.a" 2>/dev/null) \
        "$tests_library" "$build/tools/libtools.a" "$library" -o "$tree/test" \
        $cmocka_libs -lpthread -ldl -lm
}

one() { # BUG
    name=$1
    tree=$work/tree_$name
    {
        IFS= read -r program && IFS= read -r kind && IFS= read -r tests && IFS= read -r expected &&
            IFS= read -r file && IFS= read -r script
    } <"$work/bugs/$name" || return 1
    allocators=bitmap
    case $file in
    *@*) allocators=$(echo "${file#*@}" | tr , ' ') file=${file%@*} ;;
    esac
    if ! copy_tree "$file" || ! plant "$file" "$script"; then
        echo "FAIL $name: not planted"
        return 1
    fi
    if ! build_bug "$program" "$kind" "$file" "$allocators" 2>"$tree/errors"; then
        echo "FAIL $name: does not compile:"
        cat "$tree/errors"
        return 1
    fi
    if "$tree/test" "$tests" >"$tree/output" 2>&1; then
        echo "FAIL $name: not noticed by $program '$tests'"
        return 1
    elif grep -q "$expected" "$tree/output"; then
        echo "PASS $name: $(grep -o "$expected.*" "$tree/output" | head -n 1 | cut -c 1-60)"
        rm -rf "$tree"
        return 0
    else
        echo "FAIL $name: fails, but without a word of \"$expected\":"
    fi
    tail -n 30 "$tree/output"
    return 1
}

if [ -z "${quick:-}" ]; then # once, and not for each bug
    quick=$CC quick_cxx=$CXX
    ! clang --version >/dev/null 2>&1 || quick=clang
    ! clang++ --version >/dev/null 2>&1 || quick_cxx=clang++
    cmocka_cflags=$(pkg-config --cflags cmocka 2>/dev/null)
    cmocka_libs=$(pkg-config --libs cmocka 2>/dev/null) || cmocka_libs=-lcmocka
    export quick quick_cxx cmocka_cflags cmocka_libs
fi
TSAN_OPTIONS="halt_on_error=1 exitcode=66"
export TSAN_OPTIONS
unset LIBSHPOOL_TEST_LONG SHPOOL_ALLOCATOR SHPOOL_CACHE_BYTES SHPOOL_CACHE_DIR SHPOOL_LOG_LEVEL \
    SHPOOL_PLUGIN_PATH
top_srcdir=$src top_builddir=$build
export top_srcdir top_builddir

case ${1:-} in # called below, through xargs
--one)
    work=$2
    one "$3"
    exit
    ;;
--program)
    work=$2
    program "${3%|*}" "${3#*|}"
    exit
    ;;
esac
words=$(printf '%s\n' ${1+"$@"})

if [ ! -f "$library" ] || [ ! -f "$tests_library" ]; then
    echo "skipped: no CMocka, or no static convenience libraries in the build"
    exit 77
fi
for folder in "$src"/allocators/*/; do
    name=$(basename "$folder")
    if ! grep -q "($name)" "$build/lib/builtin_allocators.def"; then
        echo "skipped: --enable-allocators left $name out"
        exit 77
    fi
done
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
builds=plain
printf 'int main(void) { return 0; }\n' >"$work/empty.c"
if $CC -fsanitize=thread "$work/empty.c" -o "$work/empty" 2>/dev/null && "$work/empty"; then
    builds="plain tsan"
else
    echo "no ThreadSanitizer: the bugs of memory order are left out"
fi
mkdir "$work/bugs" && split && tree=$src || exit 1
for file in "$src"/allocators/*/*.c; do
    compile -MM "$file" >"$work/$(basename "$file" .c).d" || exit 1
done

# For ThreadSanitizer: the executor, whose fibers it follows only where the library is not hidden,
# and what else uses memory of a pool.
machine() (
    mkdir "$work/tsan" && cd "$work/tsan" || exit 1
    for file in "$src"/simt/*.c; do
        compile -O1 -c "$file" || exit 1
    done
    compile $(cflags_of tsan) -c "$src/tests/pools/heap_model.c" || exit 1
    ar rc "$work/tsan.a" ./*.o
)

# The machine that runs PTX.
ptx() (
    mkdir "$work/ptx" && cd "$work/ptx" || exit 1
    for file in "$src"/tests/coalesce/ptx_*.c; do
        compile -O1 -c "$file" || exit 1
    done
    ar rc "$work/ptx.a" ./*.o
)

failed=0
programs=$(cd "$work/bugs" && head -qn 2 * | paste -d'|' - - | sort -u)
case $programs in *tsan*) machine || exit 1 ;; esac
case $programs in *coalesce/*) ptx || exit 1 ;; esac
echo "$programs" | xargs -P $jobs -I@ sh "$0" --program "$work" @ || failed=1
xargs -P $jobs -I@ sh "$0" --one "$work" @ <"$work/names" || failed=1
exit $failed
