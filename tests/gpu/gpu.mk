# On a GPU: linked by nvcc, and skipped (77) without a device.
noinst_HEADERS += \
	tests/gpu/binding_kernel.cuh \
	tests/gpu/binding_run.h \
	tests/gpu/check.h \
	tests/gpu/checked.h \
	tests/gpu/conformance_kernels.cuh \
	tests/gpu/device_check.cuh \
	tests/gpu/groups_cg.cuh \
	tests/gpu/groups_check.cuh \
	tests/gpu/groups_kernel.cuh \
	tests/gpu/groups_wait.cuh \
	tests/gpu/linked.cuh \
	tests/gpu/trace_kernel.cuh \
	tests/gpu/trial.h
EXTRA_DIST += \
	tests/gpu/advise.cu \
	tests/gpu/after.cu \
	tests/gpu/alone.cu \
	tests/gpu/bench_cluster.cu \
	tests/gpu/binding_inline.cu \
	tests/gpu/bindings.cu \
	tests/gpu/bindings_linked.cu \
	tests/gpu/buffers.cu \
	tests/gpu/capture.cu \
	tests/gpu/cluster.cu \
	tests/gpu/conformance.cu \
	tests/gpu/cxx.cu \
	tests/gpu/damage.cu \
	tests/gpu/device.cu \
	tests/gpu/groups.cu \
	tests/gpu/groups_inline.cu \
	tests/gpu/groups_linked.cu \
	tests/gpu/launch.cu \
	tests/gpu/launch_own.c \
	tests/gpu/layout.cu \
	tests/gpu/loadstore.cu \
	tests/gpu/loadstore_copies.cu \
	tests/gpu/loadstore_stages.cu \
	tests/gpu/loadstore_threads.cu \
	tests/gpu/marks.cu \
	tests/gpu/persistent.cu \
	tests/gpu/python/pairs.cu \
	tests/gpu/python/pools.py \
	tests/gpu/python/pytorch.py \
	tests/gpu/python/pytorch_fit.py \
	tests/gpu/python/pytorch_own.py \
	tests/gpu/python/pytorch_programs.py \
	tests/gpu/python/pytorch_steps.py \
	tests/gpu/python/pytorch_two.py \
	tests/gpu/python/pytorch_whole.py \
	tests/gpu/python/times.py \
	tests/gpu/python/torch_calls.cc \
	tests/gpu/python/torch_empty.cu \
	tests/gpu/resource.cu \
	tests/gpu/share.cu \
	tests/gpu/soak.cu \
	tests/gpu/spill.cu \
	tests/gpu/stage.cu \
	tests/gpu/trace.cu \
	tests/gpu/trace_inline.cu \
	tests/gpu/trace_linked.cu
shpool_test_scripts += tests/gpu/python/pools.sh tests/gpu/python/torch.sh
if HAVE_NVCC
shpool_gpu_tests = \
	tests/gpu/after \
	tests/gpu/bindings \
	tests/gpu/buffers \
	tests/gpu/capture \
	tests/gpu/cluster \
	tests/gpu/conformance \
	tests/gpu/cxx \
	tests/gpu/damage \
	tests/gpu/device \
	tests/gpu/groups \
	tests/gpu/layout \
	tests/gpu/loadstore \
	tests/gpu/marks \
	tests/gpu/persistent \
	tests/gpu/resource \
	tests/gpu/share \
	tests/gpu/soak \
	tests/gpu/spill \
	tests/gpu/stage \
	tests/gpu/trace
if HAVE_LTO_IR
shpool_gpu_tests += tests/gpu/launch
# with LTO-IR, so that SHPOOL_BINDING=linked inlines
tests/gpu/capture.o tests/gpu/conformance.o tests/gpu/launch.o: SHPOOL_NVCC_FLAGS = \
	$(SHPOOL_LTO_CFLAGS) $(SHPOOL_NVCC_DEBUG) $(SHPOOL_NVCC_COMMON)
tests/gpu/launch: tests/gpu/launch_own.o examples/plugin/own_fat.o
# as doc/PLUGINS.md makes it: LTO-IR to be inlined, PTX for the function tables
shpool_own_forms = lto_$(SHPOOL_CUDA_LOW),compute_$(SHPOOL_CUDA_LOW)
# ptxas, which only checks the PTX here, warns of a limit of registers
examples/plugin/own_fat.c: override NVCCFLAGS := $(filter-out -maxrregcount=%,$(NVCCFLAGS))
examples/plugin/own_fat.c: examples/plugin/own.cu $(top_srcdir)/build-aux/embed.sh
	@$(MKDIR_P) $(@D)
	$(AM_V_LTOIR)$(NVCC) $(SHPOOL_NVCC_CPPFLAGS) $(SHPOOL_NVCC_COMMON) -rdc=true -fatbin \
	  -gencode "arch=compute_$(SHPOOL_CUDA_LOW),code=[$(shpool_own_forms)]" \
	  -o $(@:.c=.fatbin) $(top_srcdir)/examples/plugin/own.cu
	$(AM_V_at)$(SHELL) $(top_srcdir)/build-aux/embed.sh $(@:.c=.fatbin) shpool_own_code \
	  $(SHPOOL_CUDA_VERSION) $(SHPOOL_LTO_ARCH) >$@-t && mv -f $@-t $@
examples/plugin/own_fat.o: examples/plugin/own_fat.c
	$(AM_V_CC)$(CC) $(DEFS) -I. $(AM_CPPFLAGS) $(CPPFLAGS) $(AM_CFLAGS) $(CFLAGS) -c -o $@ $<
CLEANFILES += examples/plugin/own_fat.c examples/plugin/own_fat.o examples/plugin/own_fat.fatbin
tests/gpu/launch_own.o: tests/gpu/launch_own.c
	@$(MKDIR_P) $(@D)
	$(AM_V_CC)$(CC) $(DEFS) -I. $(AM_CPPFLAGS) $(CPPFLAGS) $(AM_CFLAGS) $(CFLAGS) -c -o $@ $<
endif
shpool_nvcc_programs += $(shpool_gpu_tests)
check_DATA += $(shpool_gpu_tests)
TESTS += $(shpool_gpu_tests)
# not run by make check: make tests/gpu/advise tests/gpu/bench_cluster
shpool_nvcc_programs += tests/gpu/advise tests/gpu/bench_cluster

if HAVE_LTO_IR
shpool_bindings_lto = tests/gpu/bindings_linked_lto.o
shpool_groups_lto   = tests/gpu/groups_linked_lto.o
shpool_trace_lto    = tests/gpu/trace_linked_lto.o
tests/gpu/bindings_linked_lto.c: SHPOOL_NVCC_CPPFLAGS += -DBINDING_KERNEL=binding_linked
tests/gpu/groups_linked_lto.c: SHPOOL_NVCC_CPPFLAGS += -DGROUPS_KERNEL=groups_kernel_linked
tests/gpu/trace_linked_lto.c: SHPOOL_NVCC_CPPFLAGS += -DTRACE_KERNEL=trace_kernel_linked
endif
tests/gpu/binding_inline_%.o: tests/gpu/binding_inline.cu
	@$(MKDIR_P) $(@D)
	$(AM_V_NVCC)$(NVCC) $(SHPOOL_NVCC_CPPFLAGS) -DSHPOOL_INLINE=$* $(SHPOOL_NVCC_FLAGS) -dc \
	  -MMD -MP -MT $@ -MF $(@:.o=.cud) -o $@ $<
tests/gpu/bindings: tests/gpu/binding_inline_bitmap.o tests/gpu/bindings_linked.o \
	tests/gpu/binding_inline_thread_first_fit.o examples/own_allocator/device.o \
	examples/own_allocator/host.o $(shpool_bindings_lto)
tests/gpu/buffers.o: SHPOOL_NVCC_CPPFLAGS += -I$(top_srcdir)/include/shpool/compat
# The largest inlined code, bitmap's calls for groups in a kernel of 1,024 threads, is compiled as
# users compile it, also where quickstart check asks for fast compilation and a limit of registers.
tests/gpu/groups_inline.o: override NVCCFLAGS := \
	$(filter-out -maxrregcount=% --Ofast-compile=%,$(NVCCFLAGS))
tests/gpu/groups: tests/gpu/groups_inline.o tests/gpu/groups_linked.o $(shpool_groups_lto)
tests/gpu/loadstore: tests/gpu/loadstore_copies.o tests/gpu/loadstore_stages.o \
	tests/gpu/loadstore_threads.o
tests/gpu/resource.o: SHPOOL_NVCC_CPPFLAGS += -DLIBCUDACXX_ENABLE_EXPERIMENTAL_MEMORY_RESOURCE
tests/gpu/trace: tests/gpu/trace_inline.o tests/gpu/trace_linked.o $(shpool_trace_lto)
if !HAVE_LTO_IR
SHPOOL_NVCC_CPPFLAGS += -DBINDING_NO_LTO
endif
examples/own_allocator/host.o: examples/own_allocator/host.c
	@$(MKDIR_P) $(@D)
	$(AM_V_CC)$(CC) $(DEFS) -I. $(AM_CPPFLAGS) $(CPPFLAGS) $(AM_CFLAGS) $(CFLAGS) -c -o $@ $<
-include $(patsubst %.cu,%.cud,$(filter tests/gpu/%.cu,$(EXTRA_DIST))) \
  $(wildcard tests/gpu/binding_inline_*.cud)
endif
