# The host side of device memory: part of libshpool.so, whose core convenience library it joins.
shpool_HEADERS += include/shpool/device.h
shpooldevice_HEADERS += \
	include/shpool/device/allocator.h \
	include/shpool/device/buffer.h \
	include/shpool/device/context.h \
	include/shpool/device/hooks.h \
	include/shpool/device/provider.h
libshpool_core_la_SOURCES += \
	device/async.c \
	device/bins.c \
	device/bins.h \
	device/bins_graph.c \
	device/bins_heap.c \
	device/bins_observe.c \
	device/bins_slab.c \
	device/bins_slow.c \
	device/bins_trim.c \
	device/bins_use.c \
	device/buckets.c \
	device/buckets.h \
	device/buckets_cache.c \
	device/buckets_observe.c \
	device/buckets_size.c \
	device/context.c \
	device/context.h \
	device/context_report.c \
	device/cuda_driver.c \
	device/driver.h \
	device/layer_fault.c \
	device/layer_guard.c \
	device/layer_limit.c \
	device/layer_lock.c \
	device/layer_log.c \
	device/layer_stats.c \
	device/open.c \
	device/options.c \
	device/options.h \
	device/page_map.c \
	device/page_map.h \
	device/providers.c \
	device/properties.c \
	device/ptr_map.c \
	device/ptr_map.h \
	device/report.c \
	device/simple.c \
	device/stack.c \
	device/stack.h \
	device/sync.h \
	device/timeline.c \
	device/timeline.h \
	device/timeline_event.c \
	device/timeline_use.c
