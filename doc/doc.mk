# Documents, and the API reference by Doxygen: make doxygen, then doc/reference/html/index.html.
# Doxygen is not asked for by configure; ./quickstart check installs it (with LLVM it is 200 MB).
EXTRA_DIST += doc/doxygen.awk doc/mkdocs.yml

.PHONY: doxygen
doxygen: doc/Doxyfile
	doxygen doc/Doxyfile

# make site: README.md, the pages, the manual (mandoc), the API (doxygen, if it is there) and NEWS as
# one site with a search, in doc/site/html.  Needs mkdocs and mandoc.
shpool_pages = README.md CONTRIBUTING.md LICENSE $(filter doc/%.md doc/%.svg,$(nobase_dist_doc_DATA))
.PHONY: site
site: $(man3_MANS) $(nodist_man1_MANS) $(nodist_man7_MANS)
	@for tool in mkdocs mandoc; do command -v $$tool >/dev/null || \
	  { echo "make site needs $$tool: apt-get install mkdocs mandoc" >&2; exit 1; }; done
	rm -rf doc/site && $(MKDIR_P) doc/site/docs/doc doc/site/docs/man doc/site/docs/allocators
	cp $(srcdir)/doc/mkdocs.yml doc/site
	for file in $(shpool_pages); do cp $(srcdir)/$$file doc/site/docs/$$file || exit 1; done
	for page in $(srcdir)/allocators/*/README.md; do \
	  name=`dirname $$page` && name=`basename $$name` && $(MKDIR_P) doc/site/docs/allocators/$$name && \
	  cp $$page doc/site/docs/allocators/$$name || exit 1; done
	{ echo '# News'; echo; sed 's/^/    /' $(srcdir)/NEWS; } >doc/site/docs/NEWS.md
	sed -i 's/(NEWS)/(NEWS.md)/' doc/site/docs/README.md
	for page in $(srcdir)/man/*.1 man/*.[137]; do test ! -f $$page || \
	  mandoc -T markdown $$page >doc/site/docs/man/`basename $$page`.md || exit 1; done
	test ! -d doc/reference/html || cp -R doc/reference/html doc/site/docs/api
	cd doc/site && mkdocs build --quiet
	@echo "the site is doc/site/html/index.html"
shpool_clean += clean-site
.PHONY: clean-site
clean-site:
	-rm -rf doc/site
