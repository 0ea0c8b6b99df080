nobase_dist_doc_DATA += allocators/freelist/README.md
if SHPOOL_ALLOC_FREELIST
nobase_shpool_HEADERS     += allocators/freelist/freelist.h
libshpool_core_la_SOURCES += allocators/freelist/freelist.c
if HAVE_NVCC
libshpool_device_a_SOURCES += allocators/freelist/freelist.cu
shpool_bench_inline        += allocators/freelist/freelist_bench.o
endif
if HAVE_LTO_IR
nodist_libshpool_core_la_SOURCES += allocators/freelist/freelist_lto.c
endif
endif
