/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file simt/join.h
 * The happens-before edges announced to ThreadSanitizer.
 */
#ifndef SHPOOL_SIMT_JOIN_H
#define SHPOOL_SIMT_JOIN_H

/** One meeting of threads that orders memory: all arrivals happen before all departures. */
typedef struct simt_join simt_join;

/** NULL without ThreadSanitizer, and then the other three do nothing. */
simt_join *simt_join_new(void);
void simt_join_arrive(simt_join *join);
void simt_join_depart(simt_join *join);
void simt_join_drop(simt_join *join);
void simt_order_release(void *address);
void simt_order_acquire(void *address);

#endif /* SHPOOL_SIMT_JOIN_H */
