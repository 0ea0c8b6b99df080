# Arrays: in host memory, and buffers in device memory.
libshpool_core_la_SOURCES += \
	device/elements.c \
	device/elements.h \
	device/print.c \
	device/random.c \
	device/sort.c
libshpool_la_LIBADD += $(LIBM)
shpool_HEADERS += \
	include/shpool/array.h
