# Device allocators.
shpool_bench_SOURCES += \
	tools/bench/memory/common.c \
	tools/bench/memory/loads.h \
	tools/bench/memory/small.h \
	tools/bench/memory/memory.c \
	tools/bench/memory/memory.h \
	tools/bench/memory/replay.c \
	tools/bench/memory/run.c \
	tools/bench/memory/streams.c \
	tools/bench/memory/train.c \
	tools/bench/memory/train.h
EXTRA_DIST += tools/bench/memory/cub.cu
if HAVE_BENCH_KERNELS
shpool_bench_SOURCES += tools/bench/memory/cub.cu
endif
