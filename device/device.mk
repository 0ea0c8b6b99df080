# The host side of device memory: part of libshpool.so, whose core convenience library it joins.
shpool_HEADERS += include/shpool/device.h
shpooldevice_HEADERS += \
	include/shpool/device/allocator.h \
	include/shpool/device/buffer.h \
	include/shpool/device/context.h \
	include/shpool/device/hooks.h \
	include/shpool/device/provider.h
libshpool_core_la_SOURCES += \
	device/cuda_driver.c \
	device/driver.h
