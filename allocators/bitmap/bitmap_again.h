/* SPDX-License-Identifier: BSD-3-Clause */
/* bitmap once more, under other names and with other accesses, for pools that simt.h's plain
 * accesses cannot reach.  Include it once for each such instance:
 *
 *     #define SHPOOL_BITMAP_AS(_name) my_bitmap_##_name   what shpool_bitmap_... is called
 *     #define SHPOOL_BITMAP_BY(_name) my_##_name          what simt_load32, _store32, _peek,
 *                                                         _peek_pair, and _atomic_add, _and, _or,
 *                                                         _cas, _cas_run, _load, _load_pair are
 *     #include <shpool/allocators/bitmap/bitmap_again.h>
 *
 * It undefines both macros.  The list below names all of bitmap's functions and types: a missing
 * one would be defined twice, and would not compile.  There is no include guard. */
#include <shpool/allocators/bitmap/bitmap.h>

#if defined(SHPOOL_BITMAP_AS) /* on its own it defines nothing */

#undef SHPOOL_ALLOCATORS_BITMAP_H
#undef SHPOOL_ALLOCATORS_BITMAP_ROW_H
#undef SHPOOL_ALLOCATORS_BITMAP_CROWD_H
#undef SHPOOL_ALLOCATORS_BITMAP_RUNS_H
#undef SHPOOL_ALLOCATORS_BITMAP_SCAN_H
#undef SHPOOL_ALLOCATORS_BITMAP_WALK_H

#define shpool_bitmap_ahead SHPOOL_BITMAP_AS(ahead)
#define shpool_bitmap_aligned SHPOOL_BITMAP_AS(aligned)
#define shpool_bitmap_around SHPOOL_BITMAP_AS(around)
#define shpool_bitmap_back SHPOOL_BITMAP_AS(back)
#define shpool_bitmap_behind SHPOOL_BITMAP_AS(behind)
#define shpool_bitmap_both SHPOOL_BITMAP_AS(both)
#define shpool_bitmap_claim SHPOOL_BITMAP_AS(claim)
#define shpool_bitmap_claimed SHPOOL_BITMAP_AS(claimed)
#define shpool_bitmap_claiming SHPOOL_BITMAP_AS(claiming)
#define shpool_bitmap_clear SHPOOL_BITMAP_AS(clear)
#define shpool_bitmap_clear_rest SHPOOL_BITMAP_AS(clear_rest)
#define shpool_bitmap_cross SHPOOL_BITMAP_AS(cross)
#define shpool_bitmap_discard SHPOOL_BITMAP_AS(discard)
#define shpool_bitmap_end SHPOOL_BITMAP_AS(end)
#define shpool_bitmap_find SHPOOL_BITMAP_AS(find)
#define shpool_bitmap_fit SHPOOL_BITMAP_AS(fit)
#define shpool_bitmap_free SHPOOL_BITMAP_AS(free)
#define shpool_bitmap_free_long SHPOOL_BITMAP_AS(free_long)
#define shpool_bitmap_give SHPOOL_BITMAP_AS(give)
#define shpool_bitmap_given SHPOOL_BITMAP_AS(given)
#define shpool_bitmap_goes_on SHPOOL_BITMAP_AS(goes_on)
#define shpool_bitmap_granule SHPOOL_BITMAP_AS(granule)
#define shpool_bitmap_granules SHPOOL_BITMAP_AS(granules)
#define shpool_bitmap_guard SHPOOL_BITMAP_AS(guard)
#define shpool_bitmap_high SHPOOL_BITMAP_AS(high)
#define shpool_bitmap_init SHPOOL_BITMAP_AS(init)
#define shpool_bitmap_judge SHPOOL_BITMAP_AS(judge)
#define shpool_bitmap_largest SHPOOL_BITMAP_AS(largest)
#define shpool_bitmap_last_start SHPOOL_BITMAP_AS(last_start)
#define shpool_bitmap_lasts SHPOOL_BITMAP_AS(lasts)
#define shpool_bitmap_layout SHPOOL_BITMAP_AS(layout)
#define shpool_bitmap_length SHPOOL_BITMAP_AS(length)
#define shpool_bitmap_malloc SHPOOL_BITMAP_AS(malloc)
#define shpool_bitmap_malloc_any SHPOOL_BITMAP_AS(malloc_any)
#define shpool_bitmap_malloc_away SHPOOL_BITMAP_AS(malloc_away)
#define shpool_bitmap_malloc_far SHPOOL_BITMAP_AS(malloc_far)
#define shpool_bitmap_malloc_home SHPOOL_BITMAP_AS(malloc_home)
#define shpool_bitmap_malloc_slow SHPOOL_BITMAP_AS(malloc_slow)
#define shpool_bitmap_not SHPOOL_BITMAP_AS(not)
#define shpool_bitmap_offset SHPOOL_BITMAP_AS(offset)
#define shpool_bitmap_outline SHPOOL_BITMAP_AS(outline)
#define shpool_bitmap_owns SHPOOL_BITMAP_AS(owns)
#define shpool_bitmap_pair SHPOOL_BITMAP_AS(pair)
#define shpool_bitmap_passes SHPOOL_BITMAP_AS(passes)
#define shpool_bitmap_payload SHPOOL_BITMAP_AS(payload)
#define shpool_bitmap_peek SHPOOL_BITMAP_AS(peek)
#define shpool_bitmap_place SHPOOL_BITMAP_AS(place)
#define shpool_bitmap_release SHPOOL_BITMAP_AS(release)
#define shpool_bitmap_release_of SHPOOL_BITMAP_AS(release_of)
#define shpool_bitmap_released SHPOOL_BITMAP_AS(released)
#define shpool_bitmap_releases SHPOOL_BITMAP_AS(releases)
#define shpool_bitmap_resize SHPOOL_BITMAP_AS(resize)
#define shpool_bitmap_rest SHPOOL_BITMAP_AS(rest)
#define shpool_bitmap_retake SHPOOL_BITMAP_AS(retake)
#define shpool_bitmap_ring SHPOOL_BITMAP_AS(ring)
#define shpool_bitmap_row_of SHPOOL_BITMAP_AS(row_of)
#define shpool_bitmap_scan SHPOOL_BITMAP_AS(scan)
#define shpool_bitmap_seek SHPOOL_BITMAP_AS(seek)
#define shpool_bitmap_seek_from SHPOOL_BITMAP_AS(seek_from)
#define shpool_bitmap_seek_shared SHPOOL_BITMAP_AS(seek_shared)
#define shpool_bitmap_seek_whole SHPOOL_BITMAP_AS(seek_whole)
#define shpool_bitmap_sieve SHPOOL_BITMAP_AS(sieve)
#define shpool_bitmap_sieve_of SHPOOL_BITMAP_AS(sieve_of)
#define shpool_bitmap_size SHPOOL_BITMAP_AS(size)
#define shpool_bitmap_spot SHPOOL_BITMAP_AS(spot)
#define shpool_bitmap_spot_at SHPOOL_BITMAP_AS(spot_at)
#define shpool_bitmap_spot_in SHPOOL_BITMAP_AS(spot_in)
#define shpool_bitmap_tail SHPOOL_BITMAP_AS(tail)
#define shpool_bitmap_take SHPOOL_BITMAP_AS(take)
#define shpool_bitmap_take_around SHPOOL_BITMAP_AS(take_around)
#define shpool_bitmap_take_at SHPOOL_BITMAP_AS(take_at)
#define shpool_bitmap_take_or SHPOOL_BITMAP_AS(take_or)
#define shpool_bitmap_take_shared SHPOOL_BITMAP_AS(take_shared)
#define shpool_bitmap_unused SHPOOL_BITMAP_AS(unused)
#define shpool_bitmap_unused_at SHPOOL_BITMAP_AS(unused_at)
#define shpool_bitmap_unused_pair SHPOOL_BITMAP_AS(unused_pair)
#define shpool_bitmap_usable SHPOOL_BITMAP_AS(usable)
#define shpool_bitmap_walk SHPOOL_BITMAP_AS(walk)
#define shpool_bitmap_where SHPOOL_BITMAP_AS(where)
#define shpool_bitmap_wish SHPOOL_BITMAP_AS(wish)
#define shpool_bitmap_word_at SHPOOL_BITMAP_AS(word_at)
#define shpool_bitmap_word_of SHPOOL_BITMAP_AS(word_of)
#define shpool_bitmap_words SHPOOL_BITMAP_AS(words)
#define shpool_bitmap_words_of SHPOOL_BITMAP_AS(words_of)
#define shpool_bitmap_wrong SHPOOL_BITMAP_AS(wrong)

#define simt_atomic_add SHPOOL_BITMAP_BY(atomic_add)
#define simt_atomic_and SHPOOL_BITMAP_BY(atomic_and)
#define simt_atomic_and_pairs SHPOOL_BITMAP_BY(atomic_and_pairs)
#define simt_atomic_cas SHPOOL_BITMAP_BY(atomic_cas)
#define simt_atomic_cas_run SHPOOL_BITMAP_BY(atomic_cas_run)
#define simt_atomic_clear_run SHPOOL_BITMAP_BY(atomic_clear_run)
#define simt_atomic_load SHPOOL_BITMAP_BY(atomic_load)
#define simt_atomic_load_pair SHPOOL_BITMAP_BY(atomic_load_pair)
#define simt_atomic_or SHPOOL_BITMAP_BY(atomic_or)
#define simt_load32 SHPOOL_BITMAP_BY(load32)
#define simt_peek SHPOOL_BITMAP_BY(peek)
#define simt_peek_pair SHPOOL_BITMAP_BY(peek_pair)
#define simt_store32 SHPOOL_BITMAP_BY(store32)

#include <shpool/allocators/bitmap/bitmap.h>

#undef shpool_bitmap_ahead
#undef shpool_bitmap_aligned
#undef shpool_bitmap_around
#undef shpool_bitmap_back
#undef shpool_bitmap_behind
#undef shpool_bitmap_both
#undef shpool_bitmap_claim
#undef shpool_bitmap_claimed
#undef shpool_bitmap_claiming
#undef shpool_bitmap_clear
#undef shpool_bitmap_clear_rest
#undef shpool_bitmap_cross
#undef shpool_bitmap_discard
#undef shpool_bitmap_end
#undef shpool_bitmap_find
#undef shpool_bitmap_fit
#undef shpool_bitmap_free
#undef shpool_bitmap_free_long
#undef shpool_bitmap_give
#undef shpool_bitmap_given
#undef shpool_bitmap_goes_on
#undef shpool_bitmap_granule
#undef shpool_bitmap_granules
#undef shpool_bitmap_guard
#undef shpool_bitmap_high
#undef shpool_bitmap_init
#undef shpool_bitmap_judge
#undef shpool_bitmap_largest
#undef shpool_bitmap_last_start
#undef shpool_bitmap_lasts
#undef shpool_bitmap_layout
#undef shpool_bitmap_length
#undef shpool_bitmap_malloc
#undef shpool_bitmap_malloc_any
#undef shpool_bitmap_malloc_away
#undef shpool_bitmap_malloc_far
#undef shpool_bitmap_malloc_home
#undef shpool_bitmap_malloc_slow
#undef shpool_bitmap_not
#undef shpool_bitmap_offset
#undef shpool_bitmap_outline
#undef shpool_bitmap_owns
#undef shpool_bitmap_pair
#undef shpool_bitmap_passes
#undef shpool_bitmap_payload
#undef shpool_bitmap_peek
#undef shpool_bitmap_place
#undef shpool_bitmap_release
#undef shpool_bitmap_release_of
#undef shpool_bitmap_released
#undef shpool_bitmap_releases
#undef shpool_bitmap_resize
#undef shpool_bitmap_rest
#undef shpool_bitmap_retake
#undef shpool_bitmap_ring
#undef shpool_bitmap_row_of
#undef shpool_bitmap_scan
#undef shpool_bitmap_seek
#undef shpool_bitmap_seek_from
#undef shpool_bitmap_seek_shared
#undef shpool_bitmap_seek_whole
#undef shpool_bitmap_sieve
#undef shpool_bitmap_sieve_of
#undef shpool_bitmap_size
#undef shpool_bitmap_spot
#undef shpool_bitmap_spot_at
#undef shpool_bitmap_spot_in
#undef shpool_bitmap_tail
#undef shpool_bitmap_take
#undef shpool_bitmap_take_around
#undef shpool_bitmap_take_at
#undef shpool_bitmap_take_or
#undef shpool_bitmap_take_shared
#undef shpool_bitmap_unused
#undef shpool_bitmap_unused_at
#undef shpool_bitmap_unused_pair
#undef shpool_bitmap_usable
#undef shpool_bitmap_walk
#undef shpool_bitmap_where
#undef shpool_bitmap_wish
#undef shpool_bitmap_word_at
#undef shpool_bitmap_word_of
#undef shpool_bitmap_words
#undef shpool_bitmap_words_of
#undef shpool_bitmap_wrong

#undef simt_atomic_add
#undef simt_atomic_and
#undef simt_atomic_and_pairs
#undef simt_atomic_cas
#undef simt_atomic_cas_run
#undef simt_atomic_clear_run
#undef simt_atomic_load
#undef simt_atomic_load_pair
#undef simt_atomic_or
#undef simt_load32
#undef simt_peek
#undef simt_peek_pair
#undef simt_store32

#undef SHPOOL_BITMAP_AS
#undef SHPOOL_BITMAP_BY

#endif /* SHPOOL_BITMAP_AS */
