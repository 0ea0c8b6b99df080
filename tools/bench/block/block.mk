# The workloads over block allocators.
tools_libtools_a_SOURCES += \
	tools/bench/block/aging.h tools/bench/block/block.c tools/bench/block/block.h \
	tools/bench/block/cpu.c tools/bench/block/fuzz.h tools/bench/block/objects.c \
	tools/bench/block/objects.h tools/bench/block/options.c tools/bench/block/point.c \
	tools/bench/block/workload.h
EXTRA_DIST += tools/bench/block/cuda.cu tools/bench/block/inline.cu tools/bench/block/kernels.cuh \
	tools/bench/block/linked.cu
if HAVE_BENCH_KERNELS
shpool_bench_SOURCES += tools/bench/block/cuda.cu tools/bench/block/linked.cu
if HAVE_LTO_IR
# Kernels that are linked with their allocator have LTO-IR: machine code with launch bounds could
# not call a plugin's function tables, which have no bound there.
tools/bench/block/linked.o tools/bench/trace/replay_cuda.o: \
	SHPOOL_NVCC_FLAGS = $(SHPOOL_LTO_CFLAGS) $(SHPOOL_NVCC_DEBUG) $(SHPOOL_NVCC_COMMON)
endif
endif

%_bench.o: tools/bench/block/inline.cu
	@$(MKDIR_P) $(@D)
	$(AM_V_NVCC)$(NVCC) $(SHPOOL_NVCC_CPPFLAGS) -DSHPOOL_INLINE=$(*F) $(SHPOOL_NVCC_FLAGS) -dc \
	  -MMD -MP -MT $@ -MF $(@:.o=.cud) -o $@ $<
