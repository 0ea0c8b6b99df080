# The allocator "buckets".
libshpool_core_la_SOURCES += \
	device/buckets/buckets.c \
	device/buckets/buckets.h \
	device/buckets/cache.c \
	device/buckets/observe.c
