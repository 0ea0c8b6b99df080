# Compiled by make check, installed as documentation; without a GPU they exit 77 (skipped).
# make installcheck compiles all of them with the commands that they give.
shpool_examples = examples/device
examples_device_LDADD = libshpool_core.la
dist_examples_DATA += examples/blueprint.cu examples/cluster.cu examples/device.c \
	examples/linked.cu examples/linked_kernel.cu examples/loadstore.cu examples/pipeline.cu \
	examples/runtime.cu examples/scratch.cu examples/spill.cu examples/wait.cu
dist_pluginexample_DATA = examples/plugin/own.c examples/plugin/own.cu examples/plugin/own.h

# Larger ones: one source for the GPU and, included by X_cpu.cc, for the CPU block executor.
shpool_examples += examples/sparse/sparse_cpu examples/repeats/repeats_cpu
examples_sparse_sparse_cpu_SOURCES   = examples/sparse/sparse_cpu.cc
examples_sparse_sparse_cpu_LDADD     = libshpool_core.la
examples_repeats_repeats_cpu_SOURCES = examples/repeats/repeats_cpu.cc
examples_repeats_repeats_cpu_LDADD   = libshpool_core.la
dist_examples_DATA += examples/group.h examples/machine.h examples/options.h
sparseexampledir = $(examplesdir)/sparse
dist_sparseexample_DATA = examples/sparse/cusparse.h examples/sparse/matrix.h \
	examples/sparse/prepare.h examples/sparse/rows.h examples/sparse/sparse.cu
repeatsexampledir = $(examplesdir)/repeats
dist_repeatsexample_DATA = examples/repeats/documents.h examples/repeats/grams.h \
	examples/repeats/repeats.cu
# Built against the installed library, by make installcheck.
ownexampledir = $(examplesdir)/own_allocator
dist_ownexample_DATA = examples/own_allocator/Makefile examples/own_allocator/app.cu \
	examples/own_allocator/device.cu examples/own_allocator/host.c \
	examples/own_allocator/trial.c
cmakeexampledir = $(examplesdir)/cmake
dist_cmakeexample_DATA = examples/cmake/CMakeLists.txt

if HAVE_NVCC
shpool_examples += examples/sparse/sparse examples/repeats/repeats
examples_sparse_sparse_SOURCES      = examples/sparse/sparse.cu
examples_sparse_sparse_LDADD        = $(SHPOOL_NVCC_LIBS)
examples_sparse_sparse_DEPENDENCIES = $(SHPOOL_NVCC_DEPS)
examples_sparse_sparse_LINK         = $(SHPOOL_NVCC_LINK) $(shpool_cusparse_rpath)
shpool_cusparse_rpath =
if HAVE_CUSPARSE
examples_sparse_sparse_LDADD += -lcusparse
shpool_cusparse_rpath += -Xlinker -rpath -Xlinker $(SHPOOL_CUDA_LIBDIR)
examples/sparse/sparse.o: SHPOOL_NVCC_CPPFLAGS += -DSPARSE_CUSPARSE
endif
examples_repeats_repeats_SOURCES        = examples/repeats/repeats.cu
examples_repeats_repeats_LDADD          = $(SHPOOL_NVCC_LIBS)
examples_repeats_repeats_DEPENDENCIES   = $(SHPOOL_NVCC_DEPS)
examples_repeats_repeats_LINK           = $(SHPOOL_NVCC_LINK)
-include examples/sparse/sparse.cud examples/repeats/repeats.cud

shpool_examples += examples/blueprint examples/cluster examples/loadstore examples/pipeline \
	examples/runtime examples/scratch examples/spill examples/wait
examples_blueprint_SOURCES      = examples/blueprint.cu
examples_blueprint_LDADD        = $(SHPOOL_NVCC_LIBS)
examples_blueprint_DEPENDENCIES = $(SHPOOL_NVCC_DEPS)
examples_blueprint_LINK         = $(SHPOOL_NVCC_LINK)

examples_cluster_SOURCES        = examples/cluster.cu
examples_cluster_LDADD          = $(SHPOOL_NVCC_LIBS)
examples_cluster_DEPENDENCIES   = $(SHPOOL_NVCC_DEPS)
examples_cluster_LINK           = $(SHPOOL_NVCC_LINK)

examples_loadstore_SOURCES      = examples/loadstore.cu
examples_loadstore_LDADD        = $(SHPOOL_NVCC_LIBS)
examples_loadstore_DEPENDENCIES = $(SHPOOL_NVCC_DEPS)
examples_loadstore_LINK         = $(SHPOOL_NVCC_LINK)

examples_pipeline_SOURCES       = examples/pipeline.cu
examples_pipeline_LDADD         = $(SHPOOL_NVCC_LIBS)
examples_pipeline_DEPENDENCIES  = $(SHPOOL_NVCC_DEPS)
examples_pipeline_LINK          = $(SHPOOL_NVCC_LINK)

examples_runtime_SOURCES        = examples/runtime.cu
examples_runtime_LDADD          = $(SHPOOL_NVCC_LIBS)
examples_runtime_DEPENDENCIES   = $(SHPOOL_NVCC_DEPS)
examples_runtime_LINK           = $(SHPOOL_NVCC_LINK)

examples_scratch_SOURCES   = examples/scratch.cu
examples_scratch_LDADD        = $(SHPOOL_NVCC_LIBS)
examples_scratch_DEPENDENCIES = $(SHPOOL_NVCC_DEPS)
examples_scratch_LINK         = $(SHPOOL_NVCC_LINK)

examples_spill_SOURCES     = examples/spill.cu
examples_spill_LDADD        = $(SHPOOL_NVCC_LIBS)
examples_spill_DEPENDENCIES = $(SHPOOL_NVCC_DEPS)
examples_spill_LINK         = $(SHPOOL_NVCC_LINK)

examples_wait_SOURCES      = examples/wait.cu
examples_wait_LDADD        = $(SHPOOL_NVCC_LIBS)
examples_wait_DEPENDENCIES = $(SHPOOL_NVCC_DEPS)
examples_wait_LINK         = $(SHPOOL_NVCC_LINK)
-include examples/blueprint.cud examples/cluster.cud examples/loadstore.cud \
	examples/pipeline.cud examples/runtime.cud \
	examples/scratch.cud examples/spill.cud examples/wait.cud
endif
check_PROGRAMS += $(shpool_examples)
