#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# complete.sh SOURCE FOLDER: every file that git knows in SOURCE is in FOLDER, the unpacked tarball,
# with the same contents.  Files that only the repository needs begin with a dot, or are in a folder
# that does.  make distcheck calls it, so that a build from the tarball is one from the repository.
# Exit: 0, also if SOURCE is not a checkout, which the output says; 1: files are missing or differ.
set -u
if [ ! -e "$1/.git" ] || ! files=$(git -C "$1" ls-files); then
    echo "complete.sh: $1 is not a git checkout; the tarball is not compared with it"
    exit 0
fi
failed=0
count=0
for file in $files; do
    case $file in
    .* | */.*) continue ;;
    esac
    [ -e "$1/$file" ] || continue # removed, and not yet committed
    count=$((count + 1))
    if ! cmp -s "$1/$file" "$2/$file"; then
        echo "FAIL the tarball lacks $file, or has another one (EXTRA_DIST?)"
        failed=1
    fi
done
[ $failed = 0 ] && echo "the tarball has all $count files of the checkout"
exit $failed
