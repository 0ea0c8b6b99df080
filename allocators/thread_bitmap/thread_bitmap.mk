nobase_dist_doc_DATA += allocators/thread_bitmap/README.md
if SHPOOL_ALLOC_THREAD_BITMAP
nobase_shpool_HEADERS     += allocators/thread_bitmap/thread_bitmap.h
libshpool_core_la_SOURCES += allocators/thread_bitmap/thread_bitmap.c
if HAVE_NVCC
libshpool_device_a_SOURCES += allocators/thread_bitmap/thread_bitmap.cu
shpool_bench_inline        += allocators/thread_bitmap/thread_bitmap_bench.o
endif
if HAVE_LTO_IR
nodist_libshpool_core_la_SOURCES += allocators/thread_bitmap/thread_bitmap_lto.c
endif
endif
