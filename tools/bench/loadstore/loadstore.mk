# Block-cooperative loads and stores, beside CUB's.
tools_libtools_a_SOURCES += \
	tools/bench/loadstore/loadstore.c \
	tools/bench/loadstore/loadstore.h
EXTRA_DIST += tools/bench/loadstore/kernels.cuh tools/bench/loadstore/run.cu \
	tools/bench/loadstore/shapes.cu
if HAVE_BENCH_KERNELS
shpool_bench_SOURCES += tools/bench/loadstore/run.cu
# one object for each size of element
shpool_bench_objects += $(patsubst %,tools/bench/loadstore/%_byte_loadstore.o,1 2 4 8 16)
endif

# By default few shapes, for more than one architecture fewer, so that a build stays short.  All of
# them take minutes:
#     rm -f tools/bench/loadstore/*_byte_loadstore.o
#     make shpool-bench BENCH_LOADSTORE=-DBENCH_LS_ALL
shpool_comma = ,
BENCH_LOADSTORE = $(if $(findstring $(shpool_comma),$(SHPOOL_CUDA_ARCHS)),-DBENCH_LS_FEW)
tools/bench/loadstore/%_byte_loadstore.o: tools/bench/loadstore/shapes.cu
	@$(MKDIR_P) $(@D)
	$(AM_V_NVCC)$(NVCC) $(SHPOOL_NVCC_CPPFLAGS) -DBENCH_LS_BYTES=$* $(BENCH_LOADSTORE) \
	  $(SHPOOL_NVCC_FLAGS) -dc -MMD -MP -MT $@ -MF $(@:.o=.cud) -o $@ $<
