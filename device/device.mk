# The host side of device memory: part of libshpool.so, whose core convenience library it joins.
libshpool_core_la_SOURCES += \
	device/async.c \
	device/context.c \
	device/context.h \
	device/hooks.c \
	device/open.c \
	device/providers.c \
	device/report.c \
	device/simple.c \
	device/stack.c \
	device/stack.h
include device/base/base.mk
include device/bins/bins.mk
include device/buckets/buckets.mk
include device/layers/layers.mk
include device/arrays/arrays.mk
