# Lint and rewrite of memory accesses.  The analysis needs nothing else of the library: the LLVM
# plugin links libshpool_coalesce.la alone.  Readers and emitters of PTX are in libshpool.so.
noinst_LTLIBRARIES += libshpool_coalesce.la
libshpool_coalesce_la_SOURCES = \
	coalesce/plan/cost.c \
	coalesce/plan/decide.c \
	coalesce/plan/decide.h \
	coalesce/plan/finding.c \
	coalesce/plan/finding.h \
	coalesce/plan/form.c \
	coalesce/plan/form.h \
	coalesce/plan/leaves.c \
	coalesce/plan/message.c \
	coalesce/plan/name.c \
	coalesce/plan/plan.c \
	coalesce/plan/plan.h \
	coalesce/plan/rows.c \
	coalesce/plan/text.c
# flags of its own: plan.c and text.c are also names of lib/'s
libshpool_coalesce_la_CFLAGS = $(AM_CFLAGS)

libshpool_core_la_SOURCES += \
	coalesce/coalesce.c \
	coalesce/ptx/access.c \
	coalesce/ptx/bytes.c \
	coalesce/ptx/check.c \
	coalesce/ptx/directive.c \
	coalesce/ptx/emit.c \
	coalesce/ptx/exact.c \
	coalesce/ptx/flow.c \
	coalesce/ptx/form.c \
	coalesce/ptx/lanes.c \
	coalesce/ptx/lex.c \
	coalesce/ptx/module.c \
	coalesce/ptx/operand.c \
	coalesce/ptx/parse.c \
	coalesce/ptx/ptx.h \
	coalesce/ptx/uniform.c
