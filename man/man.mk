# Manual pages, mdoc.  Those of functions get NAME and SYNOPSIS from the headers (synopsis.awk).
# Each function's name leads to its page: in man3 a link for every .Nm.
dist_man1_MANS = man/shpool-check.1 man/shpool-coalesce.1 man/shpool-info.1
if HAVE_LLVM
dist_man1_MANS += man/shpool-coalesce-clang.1
else
EXTRA_DIST += man/shpool-coalesce-clang.1
endif
man3_MANS = \
	man/shpool_buffer_create.3 \
	man/shpool_coalesce_lint.3 \
	man/shpool_context_create.3 \
	man/shpool_device_export.3 \
	man/shpool_device_malloc.3 \
	man/shpool_device_register.3 \
	man/shpool_free_after.3 \
	man/shpool_launch.3 \
	man/shpool_layout.3 \
	man/shpool_link.3 \
	man/shpool_loadstore.3 \
	man/shpool_malloc.3 \
	man/shpool_malloc_lanes.3 \
	man/shpool_mark.3 \
	man/shpool_open.3 \
	man/shpool_plan.3 \
	man/shpool_random_fill.3 \
	man/shpool_register.3 \
	man/shpool_report.3 \
	man/shpool_stage_malloc.3 \
	man/shpool_strerror.3 \
	man/shpool_torch_malloc.3 \
	man/simt.3 \
	man/simt_run.3
EXTRA_DIST += man/synopsis.awk $(man3_MANS:=.in)
CLEANFILES += $(man3_MANS) man/prototypes

shpool_prototypes = $(wildcard $(addprefix $(srcdir)/include/shpool/, *.h *.cuh device/*.h \
	loadstore/*.cuh))
man/prototypes: tests/build/prototypes.awk $(shpool_prototypes)
	$(AM_V_GEN)$(MKDIR_P) man && \
	$(AWK) -f $(srcdir)/tests/build/prototypes.awk $(shpool_prototypes) >$@
man/%.3: man/%.3.in man/synopsis.awk man/prototypes
	$(AM_V_GEN)$(AWK) -v simt=$(srcdir)/include/shpool/simt.h -f $(srcdir)/man/synopsis.awk \
	  man/prototypes $< >$@ || { rm -f $@; exit 1; }

# Their tables of keys, variables, allocators and workloads are what the tools print.  Tools for
# another machine cannot run here: give a SHPOOL_INFO and a SHPOOL_BENCH of this version that do.
nodist_man1_MANS = man/shpool-bench.1
nodist_man7_MANS = man/shpool.7
EXTRA_DIST += man/shpool-bench.1.in man/shpool.7.in man/tables.awk
CLEANFILES += man/shpool-bench.1 man/shpool.7
SHPOOL_BENCH = ./shpool-bench$(EXEEXT)
SHPOOL_INFO = ./shpool-info$(EXEEXT)
shpool_make_page = $(MKDIR_P) man && SHPOOL_ALLOCATOR= SHPOOL_LOG_LEVEL= SHPOOL_PLUGIN_PATH= \
	$(AWK) -v bench='$(SHPOOL_BENCH)' -v info='$(SHPOOL_INFO)' -f $(srcdir)/man/tables.awk \
	$(srcdir)/$@.in >$@.tmp && mv $@.tmp $@
man/shpool-bench.1: man/shpool-bench.1.in man/tables.awk shpool-bench$(EXEEXT)
	$(AM_V_GEN)$(shpool_make_page)
man/shpool.7: man/shpool.7.in man/tables.awk shpool-info$(EXEEXT)
	$(AM_V_GEN)$(shpool_make_page)

# prints "PAGE NAME" for the names that have no page of their own; C++ ones have no link
shpool_man_links = for page in $(man3_MANS); do \
	base=`basename $$page`; \
	sed -n '/^\.Sh NAME/,/^\.Nd/s/^\.Nm \([a-z_0-9]*\)\( ,\)*$$/\1/p' $$page | \
	sed "s/^/$$base /"; \
	done | awk '$$1 != $$2 ".3"'

install-man-links:
	@$(shpool_man_links) | while read -r page name; do \
	  rm -f "$(DESTDIR)$(man3dir)/$$name.3" && \
	  $(LN_S) "$$page" "$(DESTDIR)$(man3dir)/$$name.3" || exit 1; \
	done

uninstall-man-links:
	@$(shpool_man_links) | while read -r page name; do \
	  rm -f "$(DESTDIR)$(man3dir)/$$name.3"; \
	done
