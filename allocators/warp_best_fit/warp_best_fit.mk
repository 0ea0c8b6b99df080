nobase_dist_doc_DATA += allocators/warp_best_fit/README.md
if SHPOOL_ALLOC_WARP_BEST_FIT
nobase_shpool_HEADERS     += allocators/warp_best_fit/warp_best_fit.h
libshpool_core_la_SOURCES += allocators/warp_best_fit/warp_best_fit.c
if HAVE_NVCC
libshpool_device_a_SOURCES += allocators/warp_best_fit/warp_best_fit.cu
shpool_bench_inline        += allocators/warp_best_fit/warp_best_fit_bench.o
endif
if HAVE_LTO_IR
nodist_libshpool_core_la_SOURCES += allocators/warp_best_fit/warp_best_fit_lto.c
endif
endif
