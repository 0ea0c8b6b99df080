nobase_dist_doc_DATA += allocators/arena/README.md
if SHPOOL_ALLOC_ARENA
nobase_shpool_HEADERS     += allocators/arena/arena.h
libshpool_core_la_SOURCES += allocators/arena/arena.c
if HAVE_NVCC
libshpool_device_a_SOURCES += allocators/arena/arena.cu
shpool_bench_inline        += allocators/arena/arena_bench.o
endif
if HAVE_LTO_IR
nodist_libshpool_core_la_SOURCES += allocators/arena/arena_lto.c
endif
endif
