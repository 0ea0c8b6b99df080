# What all device allocators stand on: streams and events, maps, options, marks for tools.
libshpool_core_la_SOURCES += \
	device/base/device.c \
	device/base/device.h \
	device/base/events.c \
	device/base/nvtx.c \
	device/base/nvtx.h \
	device/base/page_map.c \
	device/base/page_map.h \
	device/base/properties.c \
	device/base/ptr_map.c \
	device/base/ptr_map.h \
	device/base/share.c \
	device/base/share.h \
	device/base/sync.h \
	device/base/timeline.c \
	device/base/timeline.h
