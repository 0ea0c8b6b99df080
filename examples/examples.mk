# Compiled by make check, installed as documentation; those for a GPU exit 77 (skipped)
# without one.
# make installcheck compiles all of them with the commands that they give.
shpool_examples = examples/device examples/executor
examples_device_LDADD = libshpool_core.la
examples_executor_LDADD = libshpool_core.la
dist_examples_DATA += examples/cluster.cu examples/cupy_example.py \
	examples/cupy_rows.py examples/device.c examples/executor.c examples/groups.cu \
	examples/numba_rows.py \
	examples/rows.cuh examples/torch_rows.cu examples/torch_rows.py examples/torch_train.py \
	examples/linked.cu examples/linked_kernel.cu examples/loadstore.cu examples/pipeline.cu \
	examples/runtime.cu examples/scratch.cu examples/spill.cu examples/stages.cu \
	examples/wait.cu
dist_pluginexample_DATA = examples/plugin/own.c examples/plugin/own.cu examples/plugin/own.h

# Larger ones: one source for the GPU and, included by X_cpu.cc, for the CPU block executor.
shpool_examples += examples/decode/decode_cpu examples/sparse/sparse_cpu \
	examples/repeats/repeats_cpu
examples_decode_decode_cpu_SOURCES   = examples/decode/decode_cpu.cc
examples_decode_decode_cpu_LDADD     = libshpool_core.la
examples_sparse_sparse_cpu_SOURCES   = examples/sparse/sparse_cpu.cc
examples_sparse_sparse_cpu_LDADD     = libshpool_core.la
examples_repeats_repeats_cpu_SOURCES = examples/repeats/repeats_cpu.cc
examples_repeats_repeats_cpu_LDADD   = libshpool_core.la
dist_examples_DATA += examples/group.h examples/machine.h examples/options.h
decodeexampledir = $(examplesdir)/decode
dist_decodeexample_DATA = examples/decode/attend.h examples/decode/decode.cu \
	examples/decode/decode.h examples/decode/model.h examples/decode/rows.h \
	examples/decode/seam.h examples/decode/step.h
sparseexampledir = $(examplesdir)/sparse
dist_sparseexample_DATA = examples/sparse/matrix.h examples/sparse/pool.h \
	examples/sparse/rows.h examples/sparse/sparse.cu examples/sparse/versions.h
repeatsexampledir = $(examplesdir)/repeats
dist_repeatsexample_DATA = examples/repeats/documents.h examples/repeats/grams.h \
	examples/repeats/repeats.cu examples/repeats/versions.h
# Built against the installed library, by make installcheck.
ownexampledir = $(examplesdir)/own_allocator
dist_ownexample_DATA = examples/own_allocator/Makefile examples/own_allocator/app.cu \
	examples/own_allocator/bump.h \
	examples/own_allocator/device.cu examples/own_allocator/host.c \
	examples/own_allocator/trial.c
cmakeexampledir = $(examplesdir)/cmake
dist_cmakeexample_DATA = examples/cmake/CMakeLists.txt


if HAVE_NVCC
shpool_gpu_examples = examples/cluster \
	examples/decode/decode examples/groups examples/loadstore \
	examples/pipeline examples/repeats/repeats examples/runtime examples/scratch \
	examples/sparse/sparse examples/spill examples/stages examples/wait
shpool_nvcc_programs += $(shpool_gpu_examples)
check_DATA += $(shpool_gpu_examples)
TESTS += $(shpool_gpu_examples)
endif
check_PROGRAMS += $(shpool_examples)
