# The analysis, which needs nothing else of the library: the LLVM plugin links it alone.
noinst_LTLIBRARIES += libshpool_coalesce.la
libshpool_coalesce_la_SOURCES = \
	coalesce/plan/apart.c \
	coalesce/plan/cost.c \
	coalesce/plan/decide.c \
	coalesce/plan/decide.h \
	coalesce/plan/excerpt.c \
	coalesce/plan/excerpt.h \
	coalesce/plan/finding.c \
	coalesce/plan/finding.h \
	coalesce/plan/form.c \
	coalesce/plan/form.h \
	coalesce/plan/groups.c \
	coalesce/plan/groups.h \
	coalesce/plan/leaves.c \
	coalesce/plan/message.c \
	coalesce/plan/name.c \
	coalesce/plan/opcode.c \
	coalesce/plan/plan.c \
	coalesce/plan/plan.h \
	coalesce/plan/print.c \
	coalesce/plan/record.c \
	coalesce/plan/rows.c \
	coalesce/plan/text.c \
	coalesce/plan/used.c \
	coalesce/plan/warp.c \
	coalesce/plan/warp.h \
	lib/escape.c \
	lib/escape.h
# flags of its own: plan.c and text.c are also names of lib/'s
libshpool_coalesce_la_CFLAGS = $(AM_CFLAGS)
