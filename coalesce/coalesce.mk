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
	coalesce/leaves.c \
	coalesce/message.c \
	coalesce/name.c \
	coalesce/plan.c \
	coalesce/plan.h \
	coalesce/rows.c \
	coalesce/text.c
# flags of its own: plan.c and text.c are also names of lib/'s
libshpool_coalesce_la_CFLAGS = $(AM_CFLAGS)

libshpool_core_la_SOURCES += \
	coalesce/coalesce.c \
	coalesce/ptx.h \
	coalesce/ptx_access.c \
	coalesce/ptx_bytes.c \
	coalesce/ptx_check.c \
	coalesce/ptx_directive.c \
	coalesce/ptx_emit.c \
	coalesce/ptx_exact.c \
	coalesce/ptx_flow.c \
	coalesce/ptx_form.c \
	coalesce/ptx_lanes.c \
	coalesce/ptx_lex.c \
	coalesce/ptx_module.c \
	coalesce/ptx_operand.c \
	coalesce/ptx_parse.c \
	coalesce/ptx_uniform.c
