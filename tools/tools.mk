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
	tools/bench_cpu.c \
	tools/bench_json.c \
	tools/bench_workload.h \
	tools/message.c \
	tools/message.h
shpool_bench_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS)
EXTRA_DIST += tools/bench_kernels.cuh tools/bench_inline.cu tools/bench_linked.cu

if HAVE_NVCC
shpool_bench_SOURCES += tools/bench_cuda.cu tools/bench_kernels.cuh
if HAVE_LTO_IR
nodist_shpool_bench_SOURCES = tools/bench_linked_lto.c
-include tools/bench_linked_lto.cud
endif
shpool_bench_LDADD        = $(shpool_bench_inline) $(SHPOOL_NVCC_LIBS) $(JANSSON_LIBS)
shpool_bench_DEPENDENCIES = $(shpool_bench_inline) $(SHPOOL_NVCC_DEPS)
shpool_bench_LINK         = $(SHPOOL_NVCC_LINK)
-include tools/bench_cuda.cud
-include $(shpool_bench_inline:.o=.cud)
else
shpool_bench_LDADD = libshpool_core.la $(JANSSON_LIBS) $(LIBM)
# what automake would say, were there no _LINK in the other branch
shpool_bench_LINK = $(LIBTOOL) $(AM_V_lt) --tag=CC $(AM_LIBTOOLFLAGS) $(LIBTOOLFLAGS) --mode=link \
	$(CCLD) $(shpool_bench_CFLAGS) $(CFLAGS) $(AM_LDFLAGS) $(LDFLAGS) -o $@
endif

%_bench.o: tools/bench_inline.cu
	@$(MKDIR_P) $(@D)
	$(AM_V_NVCC)$(NVCC) $(SHPOOL_NVCC_CPPFLAGS) -DSHPOOL_INLINE=$(*F) $(SHPOOL_NVCC_FLAGS) -dc \
	  -MMD -MP -MT $@ -MF $(@:.o=.cud) -o $@ $<
