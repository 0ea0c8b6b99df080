# What users include.  Allocators list their own headers.
shpool_HEADERS += \
	include/shpool/abi.h \
	include/shpool/after.h \
	include/shpool/coalesce.h \
	include/shpool/error.hpp \
	include/shpool/executor.h \
	include/shpool/group.h \
	include/shpool/groups.cuh \
	include/shpool/heap.h \
	include/shpool/launch.cuh \
	include/shpool/layout.cuh \
	include/shpool/layout.h \
	include/shpool/loadstore.cuh \
	include/shpool/memory_resource.hpp \
	include/shpool/module.h \
	include/shpool/shpool.cuh \
	include/shpool/shpool.h \
	include/shpool/shpool.hpp \
	include/shpool/simt.h \
	include/shpool/stage.cuh \
	include/shpool/trace.h \
	include/shpool/types.h \
	include/shpool/wait.h
shpoolimpl_HEADERS += \
	include/shpool/impl/bind.h \
	include/shpool/impl/calls.h \
	include/shpool/impl/compat_alone.h \
	include/shpool/impl/compat_print.h \
	include/shpool/impl/cuda_status.h \
	include/shpool/impl/image.h \
	include/shpool/impl/global_access.h \
	include/shpool/impl/global_heap.h \
	include/shpool/impl/layout_tile.h \
	include/shpool/impl/waiters.h \
	include/shpool/impl/wide.h
shpoolimplheap_HEADERS = \
	include/shpool/impl/heap/boundary_tags.h \
	include/shpool/impl/heap/group_lock.h \
	include/shpool/impl/heap/patience.h \
	include/shpool/impl/heap/run_word.h \
	include/shpool/impl/heap/tags_batch.h \
	include/shpool/impl/heap/tags_blocks.h \
	include/shpool/impl/heap/tags_thread.h
shpoolimplreport_HEADERS = \
	include/shpool/impl/report/area.h \
	include/shpool/impl/report/empty.h \
	include/shpool/impl/report/instrument.h \
	include/shpool/impl/report/slots.h \
	include/shpool/impl/report/spill.h \
	include/shpool/impl/report/trace.h \
	include/shpool/impl/report/zones.h
shpoolimplsimt_HEADERS = \
	include/shpool/impl/simt/cluster.h \
	include/shpool/impl/simt/cpu.h \
	include/shpool/impl/simt/cpu_async.h \
	include/shpool/impl/simt/cuda.h \
	include/shpool/impl/simt/cuda_async.h
shpoolloadstore_HEADERS += \
	include/shpool/loadstore/bulk.cuh \
	include/shpool/loadstore/common.cuh \
	include/shpool/loadstore/copy.cuh \
	include/shpool/loadstore/copy_engine.cuh \
	include/shpool/loadstore/gather.cuh \
	include/shpool/loadstore/launch.cuh \
	include/shpool/loadstore/merge.cuh \
	include/shpool/loadstore/reg.cuh \
	include/shpool/loadstore/shared.cuh \
	include/shpool/loadstore/thread.cuh \
	include/shpool/loadstore/transpose.cuh
# cuda_memory's and MGPU's header names: -I$(includedir)/shpool/compat
shpoolcompat_HEADERS += \
	include/shpool/compat/allocator.cuh \
	include/shpool/compat/configure.h \
	include/shpool/compat/cuda_memory.cuh \
	include/shpool/compat/mgpudevice.cuh \
	include/shpool/compat/mgpuenums.h \
	include/shpool/compat/poolAlloc.cuh \
	include/shpool/compat/poolAllocBST.cuh \
	include/shpool/compat/typeDefs.cuh
shpoolcumemtop_HEADERS += include/shpool/compat/cumem/blueprint.h
shpoolcumem_HEADERS += \
	include/shpool/compat/cumem/cuda/allocator.cuh \
	include/shpool/compat/cumem/cuda/poolAlloc.cuh \
	include/shpool/compat/cumem/cuda/poolAllocBST.cuh \
	include/shpool/compat/cumem/cuda/typeDefs.cuh
shpoolcompatdevice_HEADERS += \
	include/shpool/compat/device/launchbox.cuh \
	include/shpool/compat/device/loadstore.cuh \
	include/shpool/compat/device/macros.cuh
# host side of device memory
shpool_HEADERS += include/shpool/device.h
shpooldevice_HEADERS += \
	include/shpool/device/allocator.h \
	include/shpool/device/array.h \
	include/shpool/device/buffer.h \
	include/shpool/device/context.h \
	include/shpool/device/hooks.h \
	include/shpool/device/provider.h \
	include/shpool/device/share.h
# MGPU's contexts and memory, under MGPU's names
shpoolcompat_HEADERS += include/shpool/compat/moderngpu.cuh
shpoolcompatutil_HEADERS += \
	include/shpool/compat/util/cuda_types.h \
	include/shpool/compat/util/format.h \
	include/shpool/compat/util/mgpualloc.h \
	include/shpool/compat/util/mgpucontext.h \
	include/shpool/compat/util/mgpumem.h \
	include/shpool/compat/util/mgputimer.h \
	include/shpool/compat/util/util.h
