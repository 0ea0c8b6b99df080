nobase_dist_doc_DATA += allocators/warp_first_fit/README.md
if SHPOOL_ALLOC_WARP_FIRST_FIT
nobase_shpool_HEADERS     += allocators/warp_first_fit/warp_first_fit.h
libshpool_core_la_SOURCES += allocators/warp_first_fit/warp_first_fit.c
if HAVE_NVCC
libshpool_device_a_SOURCES += allocators/warp_first_fit/warp_first_fit.cu
shpool_bench_inline        += allocators/warp_first_fit/warp_first_fit_bench.o
endif
if HAVE_LTO_IR
nodist_libshpool_core_la_SOURCES += allocators/warp_first_fit/warp_first_fit_lto.c
endif
endif
