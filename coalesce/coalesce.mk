# Lint and rewrite of memory accesses.  The analysis needs nothing else of the library: the LLVM
# plugin links libshpool_coalesce.la alone.  Readers and emitters of PTX are in libshpool.so.
noinst_LTLIBRARIES += libshpool_coalesce.la
libshpool_coalesce_la_SOURCES = \
	coalesce/cost.c \
	coalesce/decide.c \
	coalesce/decide.h \
	coalesce/finding.c \
	coalesce/finding.h \
	coalesce/form.c \
	coalesce/form.h \
	coalesce/message.c \
	coalesce/plan.c \
	coalesce/plan.h \
	coalesce/rows.c \
	coalesce/text.c
# flags of its own: plan.c and text.c are also names of lib/'s
libshpool_coalesce_la_CFLAGS = $(AM_CFLAGS)
