#!/bin/sh
# The library, the tools and the clang plugin have the flags that configure chose: stacks are
# guarded, and relocations are read-only once they run.
set -u
# shellcheck source=tests/build/checks.sh
. "$top_srcdir/tests/build/checks.sh"
if ! command -v readelf >/dev/null 2>&1; then
    echo "no readelf (binutils)"
    exit 77
fi

has() { # FLAG: configure chose it
    case " $hardening " in
    *" $1 "*) true ;;
    *) false ;;
    esac
}
checked=0
for file in "$top_builddir/.libs/libshpool.so" "$top_builddir/shpool-bench" \
    "$top_builddir/shpool-info" "$top_builddir/shpool-coalesce" \
    "$top_builddir/coalesce/shpool-coalesce.so"; do
    program=$top_builddir/.libs/${file##*/} # where libtool made a script of it
    [ ! -f "$program" ] || file=$program
    [ -f "$file" ] || continue
    name=${file##*/}
    readelf --dyn-syms -W "$file" >"$work/symbols"
    readelf -dlW "$file" >"$work/tables"
    if has -fstack-protector-strong; then
        check "$name: stacks are guarded" grep -q ' __stack_chk_fail' "$work/symbols"
        checked=1
    fi
    if has -D_FORTIFY_SOURCE=2; then
        check "$name: string functions are checked" grep -q ' __[a-z]*printf_chk' "$work/symbols"
    fi
    if has -Wl,-z,relro; then
        check "$name: tables are read-only" grep -q GNU_RELRO "$work/tables"
    fi
    if has -Wl,-z,now; then
        check "$name: all of them" grep -Eq 'BIND_NOW|FLAGS.* NOW' "$work/tables"
    fi
    check "$name: the stack is not executable" awk '/GNU_STACK/ && $NF !~ /E/ && $(NF - 1) !~ /E/ {
        n++ } END { exit n != 1 }' "$work/tables"
done
if [ "$checked" = 0 ] && [ "$failed" = 0 ]; then
    echo "configured without"
    exit 77
fi
exit $failed
