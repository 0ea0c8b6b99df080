bin_PROGRAMS += shpool-info shpool-bench
shpool_info_SOURCES = \
	tools/message.c \
	tools/message.h \
	tools/shpool_info.c \
	tools/shpool_info.h \
	tools/shpool_info_json.c \
	tools/shpool_info_link.c \
	tools/shpool_info_overhead.c
shpool_info_CFLAGS  = $(AM_CFLAGS) $(JANSSON_CFLAGS)
shpool_info_LDADD   = libshpool_core.la $(JANSSON_LIBS)

shpool_bench_SOURCES = \
	tools/bench.c \
	tools/bench.h \
	tools/bench_block.c \
	tools/bench_command.c \
	tools/bench_compare.c \
	tools/bench_cpu.c \
	tools/bench_facts.c \
	tools/bench_fuzz.h \
	tools/bench_json.c \
	tools/bench_list.c \
	tools/bench_loadstore.c \
	tools/bench_loadstore.h \
	tools/bench_loadstore_json.c \
	tools/bench_memory.c \
	tools/bench_memory.h \
	tools/bench_memory_replay.c \
	tools/bench_memory_run.c \
	tools/bench_memory_streams.c \
	tools/bench_memory_train.c \
	tools/bench_options.c \
	tools/bench_plot.c \
	tools/bench_plot.h \
	tools/bench_plot_layout.c \
	tools/bench_plot_panel.c \
	tools/bench_plot_script.c \
	tools/bench_point.c \
	tools/bench_progress.c \
	tools/bench_record.c \
	tools/bench_text.c \
	tools/bench_train.h \
	tools/bench_workload.h \
	tools/message.c \
	tools/message.h \
	$(shpool_bench_trace)
shpool_bench_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS)
EXTRA_DIST += tools/bench_kernels.cuh tools/bench_inline.cu tools/bench_linked.cu \
	tools/bench_loadstore_run.cu tools/bench_loadstore_kernels.cuh \
	tools/bench_loadstore_shapes.cu tools/bench_memory_cub.cu tools/replay_cuda.cu

if HAVE_NVCC
# one object for each size of element
shpool_bench_loadstore = tools/1_byte_loadstore.o tools/2_byte_loadstore.o \
	tools/4_byte_loadstore.o tools/8_byte_loadstore.o tools/16_byte_loadstore.o
shpool_bench_SOURCES += tools/bench_cuda.cu tools/bench_kernels.cuh tools/replay_cuda.cu \
	tools/bench_loadstore_run.cu tools/bench_loadstore_kernels.cuh tools/bench_memory_cub.cu
if HAVE_LTO_IR
nodist_shpool_bench_SOURCES = tools/bench_linked_lto.c
-include tools/bench_linked_lto.cud
endif
shpool_bench_LDADD        = $(shpool_bench_inline) $(shpool_bench_loadstore) $(SHPOOL_NVCC_LIBS) \
	$(JANSSON_LIBS)
shpool_bench_DEPENDENCIES = $(shpool_bench_inline) $(shpool_bench_loadstore) $(SHPOOL_NVCC_DEPS)
shpool_bench_LINK         = $(SHPOOL_NVCC_LINK)
-include tools/bench_cuda.cud tools/bench_loadstore_run.cud tools/bench_memory_cub.cud \
	tools/replay_cuda.cud
-include $(shpool_bench_inline:.o=.cud) $(shpool_bench_loadstore:.o=.cud)
else
shpool_bench_SOURCES += tools/bench_no_cuda.c
shpool_bench_LDADD = libshpool_core.la $(JANSSON_LIBS) $(LIBM)
# what automake would say, were there no _LINK in the other branch
shpool_bench_LINK = $(LIBTOOL) $(AM_V_lt) --tag=CC $(AM_LIBTOOLFLAGS) $(LIBTOOLFLAGS) --mode=link \
	$(CCLD) $(shpool_bench_CFLAGS) $(CFLAGS) $(AM_LDFLAGS) $(LDFLAGS) -o $@
endif

%_bench.o: tools/bench_inline.cu
	@$(MKDIR_P) $(@D)
	$(AM_V_NVCC)$(NVCC) $(SHPOOL_NVCC_CPPFLAGS) -DSHPOOL_INLINE=$(*F) $(SHPOOL_NVCC_FLAGS) -dc \
	  -MMD -MP -MT $@ -MF $(@:.o=.cud) -o $@ $<

# By default few shapes, for more than one architecture fewer, so that a build stays short.  All of
# them take minutes:
#     rm -f tools/*_byte_loadstore.o && make shpool-bench SHPOOL_BENCH_LOADSTORE=-DBENCH_LS_ALL
shpool_comma = ,
SHPOOL_BENCH_LOADSTORE = $(if $(findstring $(shpool_comma),$(SHPOOL_CUDA_ARCHS)),-DBENCH_LS_FEW)
tools/%_byte_loadstore.o: tools/bench_loadstore_shapes.cu
	@$(MKDIR_P) $(@D)
	$(AM_V_NVCC)$(NVCC) $(SHPOOL_NVCC_CPPFLAGS) -DBENCH_LS_BYTES=$* $(SHPOOL_BENCH_LOADSTORE) \
	  $(SHPOOL_NVCC_FLAGS) -dc -MMD -MP -MT $@ -MF $(@:.o=.cud) -o $@ $<
