bin_PROGRAMS += shpool-coalesce
shpool_coalesce_SOURCES = \
	tools/coalesce_file.c \
	tools/coalesce_json.c \
	tools/coalesce_lint.c \
	tools/coalesce_nvcc.c \
	tools/coalesce_tool.h \
	tools/shpool_coalesce.c
# how LLVM IR is read, or that it is not: tools/coalesce_clang.mk
if HAVE_LLVM
shpool_coalesce_SOURCES += tools/coalesce_llvm.c
else
shpool_coalesce_SOURCES += tools/coalesce_no_llvm.c
endif
EXTRA_DIST += tools/coalesce_llvm.c tools/coalesce_no_llvm.c
shpool_coalesce_CPPFLAGS = $(AM_CPPFLAGS) -DPLUGIN='"$(libdir)/shpool/shpool-coalesce.so"' \
	-DLLVM_LIBRARY='"$(SHPOOL_LLVM_LIBRARY)"'
shpool_coalesce_CFLAGS  = $(AM_CFLAGS) $(JANSSON_CFLAGS)
shpool_coalesce_LDADD   = libshpool_core.la $(JANSSON_LIBS)

# What is measured: cubins of tools/coalesce_kernels.cu, plain and rewritten.  `make bench-coalesce`
# makes the program and the cubins of nvcc's route; run ./bench-coalesce nvcc.
EXTRA_DIST += tools/bench_coalesce.cu tools/coalesce_kernels.cu tools/coalesce_suite.h
if HAVE_NVCC
SHPOOL_COALESCE_ARCH = sm_90
bench-coalesce: tools/bench_coalesce.cu tools/coalesce_suite.h nvcc.plain.cubin \
		nvcc.rewritten.cubin nvcc.forced.cubin
	$(AM_V_NVCC)$(NVCC) -O2 -std=c++17 -arch=$(SHPOOL_COALESCE_ARCH) -o $@ \
	  $(top_srcdir)/tools/bench_coalesce.cu -L$(SHPOOL_CUDA_LIBDIR)/stubs -lcuda
nvcc.plain.ptx: tools/coalesce_kernels.cu
	$(AM_V_NVCC)$(NVCC) -ptx -O3 -std=c++17 -arch=$(SHPOOL_COALESCE_ARCH) -o $@ $<
nvcc.rewritten.ptx: nvcc.plain.ptx shpool-coalesce
	$(AM_V_at)./shpool-coalesce rewrite nvcc.plain.ptx -o $@
nvcc.forced.ptx: nvcc.plain.ptx shpool-coalesce
	$(AM_V_at)./shpool-coalesce rewrite --force nvcc.plain.ptx -o $@
nvcc.%.cubin: nvcc.%.ptx
	$(AM_V_NVCC)$(NVCC) -cubin -arch=$(SHPOOL_COALESCE_ARCH) -o $@ $<
CLEANFILES += bench-coalesce nvcc.*.ptx nvcc.*.cubin
endif
