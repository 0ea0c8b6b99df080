# The allocator "bins".
libshpool_core_la_SOURCES += \
	device/bins/bins.c \
	device/bins/bins.h \
	device/bins/graph.c \
	device/bins/observe.c \
	device/bins/slab.c \
	device/bins/slow.c \
	device/bins/trim.c \
	device/bins/use.c
