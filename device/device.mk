# The host side of device memory: part of libshpool.so, whose core convenience library it joins.
# The files of the providers come from device/list (build-aux/modules.sh).
libshpool_core_la_SOURCES += \
	device/context.c \
	device/context.h \
	device/handle.c \
	device/handle.h \
	device/hooks.c \
	device/import.c \
	device/layers/layer.c \
	device/layers/layer.h \
	device/open.c \
	device/providers.c \
	device/report.c \
	device/stack.c \
	device/stack.h
include device/base/base.mk
include device/arrays/arrays.mk
