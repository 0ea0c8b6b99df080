nobase_dist_doc_DATA += allocators/null/README.md
if SHPOOL_ALLOC_NULL
nobase_shpool_HEADERS     += allocators/null/null.h
libshpool_core_la_SOURCES += allocators/null/null.c
if HAVE_NVCC
libshpool_device_a_SOURCES += allocators/null/null.cu
shpool_bench_inline        += allocators/null/null_bench.o
endif
if HAVE_LTO_IR
nodist_libshpool_core_la_SOURCES += allocators/null/null_lto.c
endif
endif
