# Layers: what stands on any device allocator.
libshpool_core_la_SOURCES += \
	device/layers/fault.c \
	device/layers/guard.c \
	device/layers/limit.c \
	device/layers/lock.c \
	device/layers/log.c \
	device/layers/stats.c
