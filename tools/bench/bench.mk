bin_PROGRAMS += shpool-bench
shpool_bench_SOURCES = tools/bench/bench.c
tools_libtools_a_SOURCES += \
	tools/bench/column.c tools/bench/column.h tools/bench/compare.c tools/bench/facts.c \
	tools/bench/facts.h tools/bench/gpu.h tools/bench/list.c tools/bench/list.h \
	tools/bench/names.c tools/bench/names.h tools/bench/no_cuda.c tools/bench/picture.c \
	tools/bench/picture.h tools/bench/places.c tools/bench/places.h tools/bench/plot.c \
	tools/bench/progress.c tools/bench/progress.h tools/bench/python.c tools/bench/python.h \
	tools/bench/record.c tools/bench/record.h tools/bench/results.c tools/bench/results.h
EXTRA_DIST += tools/bench/gpu.cu tools/bench/gpu.cuh
if HAVE_BENCH_KERNELS
shpool_bench_SOURCES += tools/bench/gpu.cu
endif
nodist_tools_libtools_a_SOURCES = tools/bench/programs.c
# the programs that the tool passes to Python
shpool_bench_python = $(top_srcdir)/tools/bench/draw.py $(top_srcdir)/tools/bench/results.py
EXTRA_DIST += tools/bench/draw.py tools/bench/results.py
tools/bench/programs.c: $(shpool_bench_python)
	@$(MKDIR_P) $(@D)
	$(AM_V_GEN){ echo '#include "tools/bench/python.h"'; for file in $(shpool_bench_python); do \
	  echo "const char bench_`basename $$file .py`_program[] = {" && od -An -v -tu1 $$file | \
	    sed 's/  *\([0-9][0-9]*\)/\1,/g' && echo '0};' || exit; done; } >$@-t && mv -f $@-t $@
MOSTLYCLEANFILES += tools/bench/programs.c
# objects that are made by rules of their own; the inline kernels compile longer than all else
BENCH_INLINE = $(shpool_bench_inline)
shpool_bench_objects = $(BENCH_INLINE)
include tools/bench/block/block.mk
include tools/bench/coalesce/coalesce.mk
include tools/bench/loadstore/loadstore.mk
include tools/bench/memory/memory.mk
include tools/bench/trace/trace.mk

if HAVE_BENCH_KERNELS
shpool_bench_LDADD        = $(shpool_bench_objects) tools/libtools.a $(SHPOOL_NVCC_LIBS)
shpool_bench_DEPENDENCIES = $(shpool_bench_objects) tools/libtools.a $(SHPOOL_NVCC_DEPS)
shpool_bench_LINK         = $(SHPOOL_NVCC_LINK)
-include tools/bench/block/cuda.cud tools/bench/block/linked.cud tools/bench/gpu.cud \
	tools/bench/loadstore/run.cud tools/bench/memory/cub.cud tools/bench/trace/replay_cuda.cud
-include $(shpool_bench_objects:.o=.cud)
else
shpool_bench_LDADD = tools/libtools.a libshpool_core.la $(LIBM)
# automake's own default, which the _LINK of the other branch suppresses
shpool_bench_LINK = $(LIBTOOL) $(AM_V_lt) --tag=CC $(AM_LIBTOOLFLAGS) $(LIBTOOLFLAGS) --mode=link \
	$(CCLD) $(AM_CFLAGS) $(CFLAGS) $(AM_LDFLAGS) $(LDFLAGS) -o $@
endif
