# Compiled by make check, installed as documentation; without a GPU they exit 77 (skipped).
# make installcheck compiles all of them with the commands that they give.
shpool_examples = examples/device
examples_device_LDADD = libshpool_core.la
dist_examples_DATA += examples/blueprint.cu examples/cluster.cu examples/device.c \
	examples/linked.cu examples/linked_kernel.cu examples/loadstore.cu examples/pipeline.cu \
	examples/runtime.cu examples/scratch.cu examples/spill.cu examples/wait.cu
dist_pluginexample_DATA = examples/plugin/own.c examples/plugin/own.cu examples/plugin/own.h
if HAVE_NVCC
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
