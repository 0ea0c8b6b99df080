# Device allocators.
tools_libtools_a_SOURCES += \
	tools/bench/memory/common.c tools/bench/memory/loads.c tools/bench/memory/loads.h \
	tools/bench/memory/memory.c tools/bench/memory/memory.h tools/bench/memory/no_cub.c \
	tools/bench/memory/replay.c tools/bench/memory/run.c tools/bench/memory/streams.c \
	tools/bench/memory/train.c
EXTRA_DIST += tools/bench/memory/cub.cu
if HAVE_BENCH_KERNELS
shpool_bench_SOURCES += tools/bench/memory/cub.cu
endif
