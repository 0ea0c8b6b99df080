nobase_dist_doc_DATA += allocators/cluster_bitmap/README.md
if SHPOOL_ALLOC_CLUSTER_BITMAP
nobase_shpool_HEADERS     += allocators/cluster_bitmap/cluster_bitmap.h
if !SHPOOL_ALLOC_BITMAP
nobase_shpool_HEADERS     += allocators/bitmap/bitmap.h allocators/bitmap/bitmap_again.h \
	allocators/bitmap/bitmap_runs.h
endif
libshpool_core_la_SOURCES += allocators/cluster_bitmap/cluster_bitmap.c
if HAVE_NVCC
libshpool_device_a_SOURCES += allocators/cluster_bitmap/cluster_bitmap.cu
shpool_bench_inline        += allocators/cluster_bitmap/cluster_bitmap_bench.o
endif
if HAVE_LTO_IR
nodist_libshpool_core_la_SOURCES += allocators/cluster_bitmap/cluster_bitmap_lto.c
endif
endif
