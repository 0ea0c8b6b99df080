# Lint and rewrite of memory accesses.  The analysis needs nothing else of the library: the LLVM
# plugin links libshpool_coalesce.la alone.  Readers and emitters of PTX are in libshpool.so.
noinst_LTLIBRARIES += libshpool_coalesce.la
libshpool_coalesce_la_SOURCES = \
	coalesce/finding.h \
	coalesce/form.h \
	coalesce/plan.h
