# Debian's packages: dpkg-buildpackage -us -uc -b in the top folder; packaging/check.sh tries them;
# packaging/release.sh makes all files of a release (doc/RELEASING.md).
EXTRA_DIST += packaging/check.sh packaging/complete.sh packaging/figures.py \
	packaging/release.sh packaging/wheels.sh \
	debian/changelog debian/control debian/copyright debian/rules debian/source/format \
	debian/libshpool0.install debian/libshpool-dev.install debian/python3-shpool.install \
	debian/shpool-tools.install

# before the tarball is built
distcheck-hook:
	$(SHELL) $(top_srcdir)/packaging/complete.sh $(top_srcdir) $(distdir)
.PHONY: distcheck-hook

# ---- make uninstall leaves no folder that make install made ----
# Other packages use these folders too.  make install notes in the build folder which of them it
# makes; without that note (another build folder) they stay.
shpool_shared_folders = '$(bindir)' '$(pkgconfigdir)' '$(libdir)/cmake' '$(includedir)' '$(libdir)' '$(docdir)' \
	'$(man1dir)' '$(man3dir)' '$(man7dir)'
shpool_own_folders = '$(includedir)/shpool' '$(libdir)/shpool' '$(cmakedir)' '$(docdir)'
shpool_note = installed-folders
DISTCLEANFILES += $(shpool_note) $(shpool_note).new

# through a variable: automake would drop its own rule of that name
shpool_install = install-am
$(shpool_install): note-missing-folders
note-missing-folders:
	@{ cat $(shpool_note) 2>/dev/null; \
	  for folder in $(shpool_shared_folders); do \
	    folder="$(DESTDIR)$$folder"; \
	    while test ! -d "$$folder"; do echo "$$folder"; folder=`dirname "$$folder"`; done; \
	  done; } | LC_ALL=C sort -u >$(shpool_note).new && mv -f $(shpool_note).new $(shpool_note) || \
	echo "make uninstall will leave empty folders: it cannot be noted which ones are missing now"

# Folders that are not empty stay, and so does the note of them.
uninstall-empty-folders: uninstall-man-links
	@for folder in $(shpool_own_folders); do \
	  if test -d "$(DESTDIR)$$folder"; then \
	    find "$(DESTDIR)$$folder" -depth -type d -exec rmdir {} \; 2>/dev/null; fi; \
	done; \
	test -f $(shpool_note) || exit 0; \
	for folder in $(shpool_shared_folders); do \
	  folder="$(DESTDIR)$$folder"; \
	  while grep -qxF -e "$$folder" $(shpool_note); do \
	    test ! -d "$$folder" || rmdir "$$folder" 2>/dev/null || break; \
	    folder=`dirname "$$folder"`; \
	  done; \
	done; \
	while IFS= read -r folder; do \
	  test ! -d "$$folder" || echo "$$folder"; \
	done <$(shpool_note) >$(shpool_note).new; \
	mv -f $(shpool_note).new $(shpool_note); \
	test -s $(shpool_note) || rm -f $(shpool_note)
.PHONY: note-missing-folders
