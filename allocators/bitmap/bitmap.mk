nobase_dist_doc_DATA += allocators/bitmap/README.md
if SHPOOL_ALLOC_BITMAP
nobase_shpool_HEADERS     += allocators/bitmap/bitmap.h allocators/bitmap/bitmap_again.h \
	allocators/bitmap/bitmap_runs.h
libshpool_core_la_SOURCES += allocators/bitmap/bitmap.c
if HAVE_NVCC
libshpool_device_a_SOURCES += allocators/bitmap/bitmap.cu
shpool_bench_inline        += allocators/bitmap/bitmap_bench.o
endif
if HAVE_LTO_IR
nodist_libshpool_core_la_SOURCES += allocators/bitmap/bitmap_lto.c
endif
endif
