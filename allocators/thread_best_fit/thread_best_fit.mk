nobase_dist_doc_DATA += allocators/thread_best_fit/README.md
if SHPOOL_ALLOC_THREAD_BEST_FIT
nobase_shpool_HEADERS     += allocators/thread_best_fit/thread_best_fit.h
libshpool_core_la_SOURCES += allocators/thread_best_fit/thread_best_fit.c
if HAVE_NVCC
libshpool_device_a_SOURCES += allocators/thread_best_fit/thread_best_fit.cu
shpool_bench_inline        += allocators/thread_best_fit/thread_best_fit_bench.o
endif
if HAVE_LTO_IR
nodist_libshpool_core_la_SOURCES += allocators/thread_best_fit/thread_best_fit_lto.c
endif
endif
