# The reader and the emitter of PTX: part of libshpool.so.
libshpool_core_la_SOURCES += \
	coalesce/ptx/access.c \
	coalesce/ptx/apart.c \
	coalesce/ptx/check.c \
	coalesce/ptx/directive.c \
	coalesce/ptx/emit.c \
	coalesce/ptx/exact.c \
	coalesce/ptx/flow.c \
	coalesce/ptx/form.c \
	coalesce/ptx/lex.c \
	coalesce/ptx/module.c \
	coalesce/ptx/operand.c \
	coalesce/ptx/out.c \
	coalesce/ptx/parameter.c \
	coalesce/ptx/parse.c \
	coalesce/ptx/print.c \
	coalesce/ptx/ptx.h \
	coalesce/ptx/uniform.c
