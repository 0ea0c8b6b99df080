# Tests of build products and documents: headers, archive, symbols, machine code, installation.
shpool_test_scripts += \
	tests/build/adding.sh \
	tests/build/archive.sh \
	tests/build/autogen.sh \
	tests/build/defects.sh \
	tests/build/docs.sh \
	tests/build/fuzz.sh \
	tests/build/hardening.sh \
	tests/build/headers.sh \
	tests/build/linked.sh \
	tests/build/man.sh \
	tests/build/messages.sh \
	tests/build/plugin.sh \
	tests/build/prose.sh \
	tests/build/quickstart.sh \
	tests/build/reference.sh \
	tests/build/release.sh \
	tests/build/relink.sh \
	tests/build/reload.sh \
	tests/build/sass.sh \
	tests/build/setmaxnreg.sh \
	tests/build/snippets.sh \
	tests/build/style.sh \
	tests/build/symbols.sh \
	tests/build/walls.sh
EXTRA_DIST += tests/build/abi.c tests/build/checks.sh tests/build/doc_blocks.awk \
	tests/build/doc_snippets.cu tests/build/load_rounds.c tests/build/nvrtc_headers.c \
	tests/build/prose.words tests/build/prototypes.awk \
	tests/build/relink.cu tests/build/setmaxnreg.cu tests/build/symbols.txt
if HAVE_CMOCKA
shpool_cmocka_tests += tests/build/test_doc_snippets
endif
shpool_nvrtc =
if HAVE_NVRTC
shpool_nvrtc += tests/build/nvrtc_headers
endif
tests/build/nvrtc_headers: tests/build/nvrtc_headers.c
	@$(MKDIR_P) $(@D)
	$(AM_V_NVCC)$(NVCC) -o $@ $(top_srcdir)/tests/build/nvrtc_headers.c -lnvrtc
check_DATA += $(shpool_nvrtc)
CLEANFILES += tests/build/nvrtc_headers

# ---- the commands of doc/ and README.md, against the installed files ----
# INSTALLCHECK=short leaves out the larger examples, and that an uninstallation leaves nothing.
INSTALLCHECK = all
EXTRA_DIST += tests/build/installcheck.sh tests/build/uninstall.sh tests/build/consumer.c \
	tests/build/consumer.cu tests/build/load_two.c tests/build/cmake/CMakeLists.txt \
	tests/build/cmake/main.cpp
installcheck-local:
	NVCC='$(NVCC)' CC='$(CC)' CXX='$(CXX)' PKG_CONFIG='$(PKG_CONFIG)' \
	PKG_CONFIG_PATH='$(DESTDIR)$(pkgconfigdir)' PKG_CONFIG_SYSROOT_DIR='$(DESTDIR)' \
	LIBDIR='$(DESTDIR)$(libdir)' BINDIR='$(DESTDIR)$(bindir)' \
	INCLUDEDIR='$(DESTDIR)$(includedir)' MANDIR='$(DESTDIR)$(mandir)' \
	DOCDIR='$(DESTDIR)$(docdir)' \
	allocators='$(SHPOOL_ALLOCATOR_NAMES)' \
	MAKE='$(MAKE)' CMAKE='$(CMAKE)' extent='$(INSTALLCHECK)' \
	  $(SHELL) $(srcdir)/tests/build/installcheck.sh $(srcdir)/tests
	test '$(INSTALLCHECK)' = short || \
	  MAKE='$(MAKE)' $(SHELL) $(srcdir)/tests/build/uninstall.sh
