# Documents, and the API reference by Doxygen: make doxygen, then doc/reference/html/index.html.
# Doxygen is not asked for by configure; ./quickstart check installs it (with LLVM it is 200 MB).
EXTRA_DIST += doc/doxygen.awk

.PHONY: doxygen
doxygen: doc/Doxyfile
	doxygen doc/Doxyfile
