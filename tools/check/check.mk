bin_PROGRAMS += shpool-check
shpool_check_SOURCES = \
	tools/check/build.c \
	tools/check/build.h \
	tools/check/check.c \
	tools/check/findings.c \
	tools/check/findings.h \
	tools/check/options.c \
	tools/check/translate.c \
	tools/check/translate.h
shpool_check_CPPFLAGS = $(AM_CPPFLAGS) -DINCLUDES='"$(includedir)"' -DLIBRARIES='"$(libdir)"'
shpool_check_LDADD = tools/libtools.a libshpool_core.la
