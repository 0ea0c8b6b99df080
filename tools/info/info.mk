bin_PROGRAMS += shpool-info
shpool_info_SOURCES = \
	tools/info/facts.c \
	tools/info/info.c \
	tools/info/info.h \
	tools/info/json.c \
	tools/info/link.c \
	tools/info/overhead.c
shpool_info_LDADD = tools/libtools.a libshpool_core.la
