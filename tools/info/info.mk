bin_PROGRAMS += shpool-info
shpool_info_SOURCES = \
	tools/info/facts.c \
	tools/info/info.c \
	tools/info/info.h \
	tools/info/json.c \
	tools/info/link.c \
	tools/info/overhead.c \
	$(shpool_json_sources) \
	$(shpool_tool_sources)
shpool_info_CFLAGS  = $(AM_CFLAGS) $(JANSSON_CFLAGS)
shpool_info_LDADD   = libshpool_core.la $(JANSSON_LIBS)
