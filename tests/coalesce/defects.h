/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kernels that a coalescing pass gets wrong if it makes unproven assumptions: the ones on which the
 * COALDA pass (EECS 583, University of Michigan) crashed, miscompiled or recognised nothing, and
 * variants.  tests/coalesce/defects.cu defines them, with the parameters (word *d,
 * const word *s, size_t n).
 *
 *   DEFECT(name, bytes of s and of d that n threads need, each plus `extra`, extra, flags)
 */
#ifndef SHPOOL_TESTS_COALESCE_DEFECTS_H
#define SHPOOL_TESTS_COALESCE_DEFECTS_H

enum {
    DEFECT_FULL      = 1, /* no bound: whole blocks of 64 threads only */
    DEFECT_SAME      = 2, /* s may be d: each thread keeps to its own record */
    DEFECT_2D        = 4, /* blocks of 16 x 8 */
    DEFECT_LOCKSTEP  = 8, /* lanes overlap: compared only where they run in step */
    DEFECT_OVERLAP   = 16 /* s and d may overlap in any way, then lanes run in step */
};

#define COALESCE_DEFECTS(DEFECT)                                                                   \
    DEFECT(two_a, 36, 36, 0, DEFECT_SAME)              /* two kernels with one stride */           \
    DEFECT(two_b, 36, 36, 0, DEFECT_SAME)                                                          \
    DEFECT(reversed_sum, 36, 36, 0, DEFECT_SAME)       /* threadIdx + blockIdx * blockDim */       \
    DEFECT(guarded, 12, 12, 0, DEFECT_SAME)            /* if (t < n) */                            \
    DEFECT(pitch, 48, 48, 0, 0)                        /* d[p * t], p known at run time */         \
    DEFECT(two_dimensions, 36, 36, 0, DEFECT_2D)       /* x and y make the index */                \
    DEFECT(shifted, 36, 36, 2304, 0)                   /* t = t + 64 */                            \
    DEFECT(descending, 36, 36, 0, 0)                   /* stride -9 words */                       \
    DEFECT(own_shared, 36, 36, 0, DEFECT_FULL)         /* no barrier: each its own element */      \
    DEFECT(fields, 36, 36, 0, 0)                       /* a struct's fields, some of 8 bytes */    \
    DEFECT(further, 48, 48, 0, 0)                      /* one element far from the record */       \
    DEFECT(volatiles, 36, 36, 0, 0)                                                                \
    DEFECT(computed, 36, 36, 0, DEFECT_SAME)           /* arithmetic between load and store */     \
    DEFECT(index_again, 36, 36, 0, DEFECT_FULL)        /* threadIdx.x read once more, later */     \
    DEFECT(barrier_between, 36, 36, 0, DEFECT_FULL)    /* other threads look at the fields */      \
    DEFECT(quadratic, 36, 36, 0, 0)                    /* index t * t mod n */                     \
    DEFECT(through_locals, 36, 36, 0, DEFECT_SAME)     /* values in an array of the thread */      \
    DEFECT(interleaved, 36, 36, 0, DEFECT_SAME)        /* the one shape COALDA is made for */      \
    DEFECT(loop_around, 36, 36, 0, 0)                  /* a grid-stride loop */                    \
    DEFECT(loop_beside, 36, 36, 0, DEFECT_SAME)        /* a loop elsewhere in the kernel */        \
    DEFECT(read_back, 40, 40, 0, 0)                    /* the thread reads what it wrote */        \
    DEFECT(neighbour_after, 36, 36, 36, DEFECT_LOCKSTEP) /* reads what the next lane wrote */      \
    DEFECT(partial_store, 48, 48, 0, 0)                /* 9 of 12 words: holes */                  \
    DEFECT(partial_load, 48, 4, 0, 0)                  /* the last word is never read */           \
    DEFECT(holes_loaded, 48, 48, 0, 0)                 /* holes inside */                          \
    DEFECT(constant_base, 36, 36, 1200, 0)             /* 9 * t + 300 */                           \
    DEFECT(early_return, 36, 36, 0, DEFECT_SAME)       /* some threads are gone */                 \
    DEFECT(divergent, 36, 36, 0, DEFECT_SAME)          /* both sides of a branch have records */   \
    DEFECT(wrapping, 36, 36, 0, 0)                     /* 32-bit unsigned index arithmetic */      \
    DEFECT(two_records, 72, 72, 0, 0)                  /* two records a thread */                  \
    DEFECT(mixed_sizes, 36, 36, 0, 0)                  /* 2-byte fields among words */             \
    DEFECT(atomics_between, 36, 40, 4, 0)              /* an atomic between the stores */          \
    DEFECT(shuffled, 36, 36, 0, DEFECT_FULL)           /* warp functions between the accesses */   \
    DEFECT(crossing, 36, 72, 0, 0)                     /* two streams that may alias, in turns */  \
    DEFECT(overwritten, 36, 36, 0, DEFECT_SAME)        /* a word is stored twice */                \
    DEFECT(constants, 4, 36, 0, 0)                     /* immediates are stored */                 \
    DEFECT(pixel_gray, 3, 3, 0, DEFECT_SAME)           /* 3 bytes */                               \
    DEFECT(pixel_signed, 3, 3, 0, 0)                   /* 3 signed bytes */                        \
    DEFECT(clamped, 36, 36, 9216, 0)                   /* min(t, n - 1) */                         \
    DEFECT(two_rows, 36, 36, 0, DEFECT_2D)             /* a warp is two rows */                    \
    DEFECT(copied_rows, 36, 36, 0, DEFECT_2D)                                                      \
    DEFECT(wraps_inside, 36, 36, 0, 0)                 /* the index wraps */                       \
    DEFECT(copied_onto, 48, 48, 1536, DEFECT_LOCKSTEP) /* lanes copy onto one record */            \
    DEFECT(handed_over, 36, 36, 0, DEFECT_FULL)        /* another warp waits for a half */         \
    DEFECT(in_turns, 36, 36, 0, DEFECT_OVERLAP)        /* loads wait for stores that may alias */  \
    DEFECT(two_sources, 72, 40, 0, DEFECT_OVERLAP)     /* the same, and a word of another array */ \
    DEFECT(address_changes, 36, 36, 0, DEFECT_OVERLAP) /* an address is computed in between */     \
    DEFECT(cannot_ask, 36, 36, 0, DEFECT_OVERLAP)      /* of one run, but of the other */      \
    DEFECT(opted_out, 36, 36, 0, 0)                    /* the mark in inline assembly */

/* Kernels of tests/coalesce/hand.ptx. */
#define COALESCE_BY_HAND(DEFECT)                                                                   \
    DEFECT(vectors, 48, 48, 0, 0)                                                                  \
    DEFECT(advancing, 28, 28, 0, 0)                                                                \
    DEFECT(reused, 28, 28, 0, 0)                                                                   \
    DEFECT(scopes, 28, 28, 0, DEFECT_SAME)                                                         \
    DEFECT(joined, 28, 28, 0, 0)                                                                   \
    DEFECT(predicated, 28, 28, 0, 0)                                                               \
    DEFECT(doubles_reloaded, 24, 24, 0, 0)                                                         \
    DEFECT(assembly, 24, 24, 0, DEFECT_OVERLAP)                                                    \
    DEFECT(declaring, 16, 16, 0, DEFECT_OVERLAP)

/* Kernels of tests/coalesce/both.cu, which clang's route compiles, too. */
#define COALESCE_BOTH(DEFECT)                                                                      \
    DEFECT(red_black9, 36, 36, 0, 0)                                                               \
    DEFECT(red_black_cells9, 36, 36, 0, 0)                                                         \
    DEFECT(newton9, 36, 36, 0, 0)                                                                  \
    DEFECT(newton_own9, 36, 36, 0, 0)                                                              \
    DEFECT(newton_long9, 36, 36, 0, 0)                                                             \
    DEFECT(newton24, 96, 96, 0, 0)                                                                 \
    DEFECT(newton_roots32, 128, 4, 0, 0)                                                           \
    DEFECT(copy_by_parts8, 32, 32, 0, DEFECT_SAME)                                                 \
    DEFECT(newton8, 32, 32, 0, 0)                                                                  \
    DEFECT(holes7, 28, 28, 0, 0)                                                                   \
    DEFECT(begins16, 64, 64, 0, 0)                                                                 \
    DEFECT(narrow8, 32, 32, 0, 0)                                                                  \
    DEFECT(padded8, 32, 32, 0, 0)                                                                  \
    DEFECT(narrow_copy4, 16, 16, 0, DEFECT_SAME)                                                   \
    DEFECT(open9, 36, 36, 0, DEFECT_SAME)

#endif /* SHPOOL_TESTS_COALESCE_DEFECTS_H */
