/* SPDX-License-Identifier: BSD-3-Clause */
/* simt.h's mbarriers and asynchronous copies on the CPU block executor.  Not for direct inclusion.
 *
 * The engine implements all of it: a copy lands when the schedule says, and not before. */
#ifndef SHPOOL_IMPL_SIMT_CPU_ASYNC_H
#define SHPOOL_IMPL_SIMT_CPU_ASYNC_H

#ifdef __cplusplus
extern "C" {
#endif

#define SIMT_HAS_MBARRIER 1
#define SIMT_HAS_BULK     1

/** Kinds of copies; each has its own groups. */
typedef enum simt_copy_kind {
    SIMT_COPY_IN, SIMT_COPY_OUT, SIMT_COPY_16, SIMT_COPY_KINDS
} simt_copy_kind;

SIMT_API void simt_engine_mbar_init(simt_addr addr, uint32_t count, const char *file, int line);
SIMT_API void simt_engine_mbar_inval(simt_addr addr, const char *file, int line);
SIMT_API void simt_engine_mbar_arrive(simt_addr addr, uint32_t bytes, const char *file, int line);
SIMT_API int  simt_engine_mbar_test(simt_addr addr, uint32_t parity, const char *file, int line);
SIMT_API void simt_engine_mbar_wait(simt_addr addr, uint32_t parity, const char *file, int line);
SIMT_API void simt_engine_copy(simt_copy_kind kind, simt_addr shared, const void *global,
                               uint32_t bytes, simt_addr mbar, const char *file, int line);
SIMT_API void simt_engine_fence_async(void);
SIMT_API void simt_engine_copy_commit(simt_copy_kind kind);
SIMT_API void simt_engine_copy_wait(simt_copy_kind kind, uint32_t most, int read);

/* seen: read before the test, so that a phase that ends after it also ends the wait. */
static inline int simt_mbar_briefly(simt_addr a, uint32_t parity, uint32_t seen, const char *file,
                                    int line)
{
    return simt_engine_mbar_test(a, parity, file, line) ||
           (simt_engine_wait_briefly(a, seen, file, line),
            simt_engine_mbar_test(a, parity, file, line));
}

/* Macros, so that reports can name the place. */
#define simt_mbar_init(_a, _count)    simt_engine_mbar_init((_a), (_count), __FILE__, __LINE__)
#define simt_mbar_inval(_a)           simt_engine_mbar_inval((_a), __FILE__, __LINE__)
#define simt_mbar_arrive(_a)          simt_engine_mbar_arrive((_a), 0, __FILE__, __LINE__)
#define simt_mbar_arrive_expect(_a, _bytes) \
    simt_engine_mbar_arrive((_a), (_bytes), __FILE__, __LINE__)
#define simt_mbar_test(_a, _parity)   simt_engine_mbar_test((_a), (_parity), __FILE__, __LINE__)
#define simt_mbar_wait(_a, _parity)   simt_engine_mbar_wait((_a), (_parity), __FILE__, __LINE__)
#define simt_mbar_wait_briefly(_a, _parity) \
    simt_mbar_briefly((_a), (_parity), simt_atomic_load((_a), SIMT_RELAXED), __FILE__, __LINE__)

#define simt_copy_async(_to, _from, _bytes, _mbar) \
    simt_engine_copy(SIMT_COPY_IN, (_to), (_from), (_bytes), (_mbar), __FILE__, __LINE__)
#define simt_copy_async_out(_to, _from, _bytes) \
    simt_engine_copy(SIMT_COPY_OUT, (_from), (_to), (_bytes), 0, __FILE__, __LINE__)
#define simt_copy_commit()            simt_engine_copy_commit(SIMT_COPY_OUT)
#define simt_copy_wait(_n)            simt_engine_copy_wait(SIMT_COPY_OUT, (_n), 0)
#define simt_copy_wait_read(_n)       simt_engine_copy_wait(SIMT_COPY_OUT, (_n), 1)
#define simt_copy16_async(_to, _from) \
    simt_engine_copy(SIMT_COPY_16, (_to), (_from), 16, 0, __FILE__, __LINE__)
#define simt_copy16_commit()          simt_engine_copy_commit(SIMT_COPY_16)
#define simt_copy16_wait(_n)          simt_engine_copy_wait(SIMT_COPY_16, (_n), 0)
#define simt_fence_async()            simt_engine_fence_async()
#define simt_fence_async_shared()     simt_engine_fence_async()

#ifdef __cplusplus
}
#endif
#endif /* SHPOOL_IMPL_SIMT_CPU_ASYNC_H */
