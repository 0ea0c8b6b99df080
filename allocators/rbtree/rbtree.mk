nobase_dist_doc_DATA += allocators/rbtree/README.md
if SHPOOL_ALLOC_RBTREE
nobase_shpool_HEADERS     += allocators/rbtree/rbtree.h
libshpool_core_la_SOURCES += allocators/rbtree/rbtree.c
if HAVE_NVCC
libshpool_device_a_SOURCES += allocators/rbtree/rbtree.cu
shpool_bench_inline        += allocators/rbtree/rbtree_bench.o
endif
if HAVE_LTO_IR
nodist_libshpool_core_la_SOURCES += allocators/rbtree/rbtree_lto.c
endif
endif
