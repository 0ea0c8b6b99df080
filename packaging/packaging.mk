# Debian's packages: dpkg-buildpackage -us -uc -b in the top folder; packaging/check.sh tries them.
EXTRA_DIST += packaging/check.sh \
	debian/changelog debian/control debian/copyright debian/rules debian/source/format \
	debian/libshpool0.install debian/libshpool-dev.install debian/python3-shpool.install \
	debian/shpool-tools.install

# The reference that tests/build/abi.sh compares with.
EXTRA_DIST += lib/libshpool.abi
store-abi: libshpool.la
	top_srcdir='$(top_srcdir)' $(SHELL) $(top_srcdir)/tests/build/abi.sh store
.PHONY: store-abi

# Folders that only libshpool uses.  They stay if a user has put files there.
uninstall-empty-folders:
	for folder in '$(includedir)/shpool' '$(libdir)/shpool' '$(docdir)'; do \
	  if test -d "$(DESTDIR)$$folder"; then \
	    find "$(DESTDIR)$$folder" -depth -type d -exec rmdir {} \; 2>/dev/null; fi; \
	done; :
