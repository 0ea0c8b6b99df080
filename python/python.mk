# The Python package, staged in the build folder with the layout of a wheel.  Tests run from there,
# and python/backend.py makes the wheel of it.  Parts that a build lacks are left out.
#
#   make python-stage     python/stage/shpool
#   make wheel            shpool-VERSION-py3-none-PLATFORM.whl, with Python and nothing else
#   make install-python   for distributions: the package without the library and the headers, which
#                         make install installs; to pythondir
shpool_python = \
	python/shpool/__init__.py \
	python/shpool/__init__.pyi \
	python/shpool/__main__.py \
	python/shpool/_c.py \
	python/shpool/_numba.py \
	python/shpool/_torch.py \
	python/shpool/auto.py \
	python/shpool/cupy.py \
	python/shpool/executor.py \
	python/shpool/numba.py \
	python/shpool/numba_memory.py \
	python/shpool/py.typed \
	python/shpool/torch.py
# PyTorch's part, which is compiled where PyTorch is
shpool_python_cxx = python/shpool/cxx/allocator.cc python/shpool/cxx/ledger.h \
	python/shpool/cxx/native.h
EXTRA_DIST += $(shpool_python) $(shpool_python_cxx) \
	python/README.md python/backend.py python/pyproject.toml \
	python/src/numba.cu python/src/open.cu
shpool_python_lib =
shpool_python_lto =
if HAVE_NVCC
shpool_python_lib += libshpool_device.a
if HAVE_SHARED
shpool_python_lib += python/libshpool_open.so
endif
if HAVE_LTO_IR
shpool_python_lto += python/numba.ltoir python/numba_check.ltoir
endif
endif

# One copy of the runtime, which needs only the driver, serves every way to install CUDA.
python/libshpool_open.so: python/src/open.cu libshpool.la
	@$(MKDIR_P) $(@D)
	$(AM_V_NVCC)$(NVCC) $(SHPOOL_NVCC_CPPFLAGS) $(SHPOOL_NVCC_COMMON) -arch=sm_$(SHPOOL_CUDA_LOW) \
	  -shared -cudart static -MMD -MP -MT $@ -MF $(@:.so=.cud) -o $@ $< .libs/libshpool.so \
	  -Xlinker --exclude-libs,ALL -Xlinker -rpath,'$$ORIGIN' $(SHPOOL_HARDENING_LDFLAGS)
SHPOOL_PYTHON_LTO = $(NVCC) $(SHPOOL_NVCC_CPPFLAGS) $(SHPOOL_NVCC_COMMON) \
	-rdc=true -dlto -arch=sm_$(SHPOOL_LTO_ARCH) -ltoir -MMD -MP -MT $@ -MF $(@:.ltoir=.cud) -o $@ $<
python/numba.ltoir: python/src/numba.cu
	@$(MKDIR_P) $(@D)
	$(AM_V_LTOIR)$(SHPOOL_PYTHON_LTO)
python/numba_check.ltoir: python/src/numba.cu
	@$(MKDIR_P) $(@D)
	$(AM_V_LTOIR)$(SHPOOL_PYTHON_LTO) -DSHPOOL_CHECK
-include python/libshpool_open.cud python/numba.cud python/numba_check.cud

# tools of the wheel; pip puts them on PATH.  -lshpool finds the library by a script of one line,
# because a wheel has no links.  shpool-check needs its headers and libraries: Python's script of
# that name passes their folder.
shpool_python_tools = shpool-info shpool-bench shpool-coalesce
shpool_python_native = python/stage/shpool/native
shpool_python_headers = install-shpoolHEADERS install-nobase_shpoolHEADERS \
	install-shpoolcheckHEADERS \
	install-shpoolcompatHEADERS install-shpoolcompatdeviceHEADERS \
	install-shpoolcompatutilHEADERS install-shpoolcumemHEADERS install-shpooldeviceHEADERS \
	install-shpoolimplHEADERS install-shpoolimplheapHEADERS install-shpoolimplreportHEADERS \
	install-shpoolimplsimtHEADERS install-shpoolloadstoreHEADERS
python/stage.stamp: $(shpool_python) $(shpool_python_cxx) libshpool.la $(shpool_python_lib) \
	$(shpool_python_lto) $(shpool_python_tools) shpool-check libshpool_check.a $(HEADERS)
	@rm -rf python/stage
	@$(MKDIR_P) $(shpool_python_native)/lib $(shpool_python_native)/lto python/stage/shpool/cxx
	$(AM_V_GEN)for file in $(shpool_python) $(shpool_python_cxx); do \
	  cp "$(srcdir)/$$file" "python/stage/$${file#python/}" || exit 1; done
	@if test -f .libs/libshpool.so; then \
	  cp .libs/libshpool.so $(shpool_python_native)/lib/libshpool.so.0 && \
	  $(STRIP) --strip-debug $(shpool_python_native)/lib/libshpool.so.0 && \
	  echo 'INPUT(libshpool.so.0)' >$(shpool_python_native)/lib/libshpool.so; fi
	@$(MKDIR_P) python/stage/scripts && cp $(shpool_python_tools) python/stage/scripts && \
	  $(STRIP) $(shpool_python_tools:%=python/stage/scripts/%)
	@$(MKDIR_P) $(shpool_python_native)/bin && cp shpool-check $(shpool_python_native)/bin && \
	  $(STRIP) $(shpool_python_native)/bin/shpool-check && \
	  cp libshpool_check.a $(shpool_python_native)/lib
	@test -z '$(strip $(shpool_python_lib))' || cp $(shpool_python_lib) $(shpool_python_native)/lib
	@test -z '$(strip $(shpool_python_lto))' || cp $(shpool_python_lto) $(shpool_python_native)/lto
	@$(MAKE) $(AM_MAKEFLAGS) DESTDIR= includedir='$(abs_builddir)/$(shpool_python_native)/include' \
	  $(shpool_python_headers) >/dev/null
	@: >$@
python-stage: python/stage.stamp
wheel: python/stage.stamp
	python3 $(srcdir)/python/backend.py '$(abs_builddir)' .
pythondir = $(prefix)/lib/python3/dist-packages
shpool_python_own = $(filter python/%,$(shpool_python_lib)) $(shpool_python_lto)
install-python: $(shpool_python_own)
	$(MKDIR_P) '$(DESTDIR)$(pythondir)/shpool/cxx'
	for file in $(shpool_python) $(shpool_python_cxx); do \
	  $(INSTALL_DATA) "$(srcdir)/$$file" "$(DESTDIR)$(pythondir)/$${file#python/}" || exit 1; done
	for file in $(shpool_python_own); do \
	  case $$file in *.so) to=lib ;; *) to=lto ;; esac; \
	  $(MKDIR_P) "$(DESTDIR)$(pythondir)/shpool/native/$$to" && \
	  $(INSTALL_DATA) $$file "$(DESTDIR)$(pythondir)/shpool/native/$$to" || exit 1; done
.PHONY: python-stage wheel install-python clean-python clean-plugin
check_DATA += python/stage.stamp
CLEANFILES += python/stage.stamp python/libshpool_open.so python/*.cud python/*.ltoir *.whl
shpool_clean += clean-python
clean-python:
	-rm -rf python/stage
