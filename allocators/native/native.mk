nobase_dist_doc_DATA += allocators/native/README.md
if SHPOOL_ALLOC_NATIVE
nobase_shpool_HEADERS     += allocators/native/native.h
libshpool_core_la_SOURCES += allocators/native/native.c
if HAVE_NVCC
libshpool_device_a_SOURCES += allocators/native/native.cu
shpool_bench_inline        += allocators/native/native_bench.o
endif
if HAVE_LTO_IR
nodist_libshpool_core_la_SOURCES += allocators/native/native_lto.c
endif
endif
