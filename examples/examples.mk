# Compiled by make check, installed as documentation; without a GPU they exit 77 (skipped).
# make installcheck compiles all of them with the commands that they give.
shpool_examples = examples/device
examples_device_LDADD = libshpool_core.la
dist_examples_DATA += examples/blueprint.cu examples/device.c examples/linked.cu \
	examples/linked_kernel.cu \
	examples/loadstore.cu examples/runtime.cu
dist_pluginexample_DATA = examples/plugin/own.c examples/plugin/own.cu examples/plugin/own.h
if HAVE_NVCC
shpool_examples += examples/blueprint examples/loadstore examples/runtime
examples_blueprint_SOURCES      = examples/blueprint.cu
examples_blueprint_LDADD        = $(SHPOOL_NVCC_LIBS)
examples_blueprint_DEPENDENCIES = $(SHPOOL_NVCC_DEPS)
examples_blueprint_LINK         = $(SHPOOL_NVCC_LINK)

examples_loadstore_SOURCES      = examples/loadstore.cu
examples_loadstore_LDADD        = $(SHPOOL_NVCC_LIBS)
examples_loadstore_DEPENDENCIES = $(SHPOOL_NVCC_DEPS)
examples_loadstore_LINK         = $(SHPOOL_NVCC_LINK)

examples_runtime_SOURCES        = examples/runtime.cu
examples_runtime_LDADD          = $(SHPOOL_NVCC_LIBS)
examples_runtime_DEPENDENCIES   = $(SHPOOL_NVCC_DEPS)
examples_runtime_LINK           = $(SHPOOL_NVCC_LINK)
-include examples/blueprint.cud examples/loadstore.cud examples/runtime.cud
endif
check_PROGRAMS += $(shpool_examples)
