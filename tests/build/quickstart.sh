#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# ./quickstart asks only for packages that it needs, compiles for the GPU that is there, prints
# little, and ends with what the benchmark's output supports and what to type next; ./quickstart
# check adds up what its steps count.  It runs in a copy whose autogen.sh, configure and benchmark
# are stubs, on a machine that seems to be Debian without cmocka.
#
#   top_srcdir   source folder [the one above this script's]
#
# Prints a PASS or FAIL line for each rule.  Exit: 0; 1; 77: no bash or no make.
set -u
# a make above this script hands its variables down, for example the flags of a check
unset MAKEFLAGS MFLAGS GNUMAKEFLAGS MAKEOVERRIDES MAKELEVEL NVCCFLAGS
here=$(cd "$(dirname "$0")" && pwd)
src=$(cd "${top_srcdir:-$here/../..}" && pwd)
for tool in bash make; do
    command -v $tool >/dev/null 2>&1 || { echo "skipped: no $tool"; exit 77; }
done
# shellcheck source=tests/build/checks.sh
. "$src/tests/build/checks.sh"

stub() { # FILE: the script is the input
    { echo '#!/bin/sh'; cat; } >"$1"
    chmod +x "$1"
}

mkdir "$work/tree" "$work/bin"
cp "$src/quickstart" "$work/tree" || exit 99
stub "$work/tree/autogen.sh" <<'END'
exit 0
END
stub "$work/tree/configure" <<'END'
cp "${0%/configure}/bench" shpool-bench && echo "$@" >arguments
printf 'all:\n\t@seq 1000; exit %s\ninstall:\n' "$(cat "${0%/configure}/makes")" >Makefile
END
echo 0 >"$work/tree/makes"
for tool in gcc g++ autoconf automake libtoolize xmllint mandoc nvidia-smi nvcc \
    apt-cache; do
    stub "$work/bin/$tool" <<'END'
exit 1
END
done
stub "$work/bin/id" <<'END'
echo 0
END
stub "$work/bin/pkg-config" <<'END'
exit 1
END
# packages that cannot be had end a run
stub "$work/bin/apt-get" <<END
echo "\$*" >>"$work/asked"
[ -e "$work/installs" ]
END

device() { # NAME: what the benchmark says that it runs on
    stub "$work/tree/bench" <<END
cat <<'OUT'
# shpool-bench 0.1.0 on $1, payload 47104 bytes a block, 100 iterations
# driver none
allocator          binding workload threads
arena              table   pairs         64
arena              table   mixed         64
null               table   pairs         64
OUT
exit \$(cat "$work/status")
END
}

run() { # ARGUMENT...: in a fresh tree
    rm -rf "$work/asked" "$work/tree/build"
    again "$@"
}
again() { # ARGUMENT...: the tree of the run before
    (cd "$work/tree" && PATH=$work/bin:$PATH ./quickstart "$@") >"$work/out" 2>&1
}

rule() { # TEXT COMMAND...
    text=$1
    shift
    if "$@"; then
        echo "PASS $text"
    else
        echo "FAIL $text:"
        tail -8 "$work/out"
        failed=1
    fi
}
last() { # N PATTERN: line N from the end
    tail -n "$1" "$work/out" | head -n 1 | grep -q -- "$2"
}
configured() { # PATTERN: what configure was called with
    grep -q -e "$1" "$work/tree/build/main/arguments"
}

device 'CPU block executor (no GPU)'
echo 0 >"$work/status"
: >"$work/installs"
run
rule "exit 0" test $? = 0
rule "nothing is installed, not even cmocka" test ! -e "$work/asked"
rule "what was seen" last 6 '^Seen: 2 allocators, 3 rows, on the CPU block executor;'
rule "a CPU's times" last 5 "^The times are a CPU's: they say nothing about a GPU"
rule "what is next: the environment" last 3 '^    \. build/env\.sh$'
rule "what is next: a program" last 2 '^    shpool-check app\.cu'
rule "at most 60 lines" test "$(wc -l <"$work/out")" -le 60
rule "the rest is in a log" grep -qx 1000 "$work/tree/build/quickstart-logs/build.log"
rule "the environment is that of the prefix" test "$(cd / && . "$work/tree/build/env.sh" &&
    echo "$PKG_CONFIG_PATH")" = "$work/tree/build/prefix/lib/pkgconfig"
again --enable-debug
rule "options go to configure" configured '--enable-debug'
again nonsense
rule "other words are refused" test $? = 2
echo 3 >"$work/tree/makes"
run
rule "a build that fails is an error" test $? = 1
rule "and its last lines are shown" grep -q 'last lines of .*build.log' "$work/out"
echo 0 >"$work/tree/makes"

device 'NVIDIA H200'
stub "$work/bin/nvcc" <<'END'
exit 0
END
run
rule "without a GPU: for all of them" configured '--with-cuda-arch=75 --disable-bench-kernels'
run --with-cuda-arch=all
rule "asked for: all" configured '--prefix=[^ ]* --with-cuda-arch=all$'
stub "$work/bin/nvidia-smi" <<'END'
printf '9.0\n8.0\n9.0\n'
END
run
rule "for the GPUs that are there" configured '--prefix=[^ ]* --with-cuda-arch=80,90$'
rule "on a GPU: what was seen" last 6 '^Seen: 2 allocators, 3 rows, on NVIDIA H200;'
rule "a GPU's times" last 5 "^The times are this GPU's"
rule "a program for it" last 2 '^    nvcc -arch=native -rdc=true app\.cu '
for tool in nvidia-smi nvcc; do
    stub "$work/bin/$tool" <<'END'
exit 1
END
done

echo 1 >"$work/status"
run
rule "a benchmark that fails is an error" test $? = 1
rule "and claims nothing" not grep -q '^Seen: ' "$work/out"

# ---- check: each step's counts are in the sum, also of those that run in the background ----
stub "$work/tree/configure" <<'END'
cp "${0%/configure}/bench" shpool-bench
echo "$@" >arguments
cat >Makefile <<'MAKEFILE'
all: object
all libshpool.la libshpool_device.a:
	@echo "made $@, flags: $(NVCCFLAGS)"
object:
	@echo "$(NVCCFLAGS)" >$@
check-rest check-sanitized:
	@echo "# PASS:  3"; echo "# SKIP:  1"
install:
installcheck:
	@echo $$$$ >installing; sleep $${INSTALL_S:-1}; \
	echo "installed, nvcc: $$NVCC_APPEND_FLAGS"; echo "# PASS:  5"
distcheck:
	@echo "# FAIL:  1"; exit 1
check-threads:
	@echo $$$$ >threads; echo "# PASS:  7"; exec sleep $${THREADS_S:-0}
MAKEFILE
END
stub "$work/bin/gcc" <<'END'
while [ $# -gt 0 ]; do
    [ "$1" != -o ] || { echo '#!/bin/sh' >"$2" && chmod +x "$2"; }
    shift
done
END
stub "$work/bin/nvcc" <<'END'
echo '--Ofast-compile <level>'
END
echo 0 >"$work/status"
run check
rule "a failed step fails the check" test $? = 1
rule "all counts are summed up" last 1 '^18 passed, 1 failed$'
rule "what was in the background is shown" grep -q '^installed, nvcc: --Ofast-compile' "$work/out"
rule "the library is compiled as users have it" \
    grep -q '^made libshpool_device.a, flags: $' "$work/out"
rule "what no GPU runs is compiled fast" grep -q '^made all, flags: .*--Ofast-compile' "$work/out"
again
rule "what users have is compiled without these flags" grep -qx '' "$work/tree/build/main/object"
rule "what users have is installed into build/prefix" \
    configured "--prefix=$work/tree/build/prefix "
rule "what is checked is installed into build/check-prefix" \
    grep -q -e "--prefix=$work/tree/build/check-prefix " "$work/tree/build/check/arguments"
stub "$work/bin/nvcc" <<'END'
echo 'no such option'
END
echo kept >"$work/tree/build/main/object"
again
rule "the same options keep objects" grep -qx kept "$work/tree/build/main/object"
echo old >"$work/tree/build/check/object"
again check
rule "other options compile anew" grep -qx '' "$work/tree/build/check/object"
rule "the former files are kept" grep -qx old "$work/tree/build/check.old/object"

# ---- the background part and signals ----
begin() { # INSTALL_S THREADS_S: starts $check; both parts then sleep, $group is the background's
    rm -f "$work/tree/build/check/installing" "$work/tree/build/tsan/threads"
    (
        cd "$work/tree" || exit
        export PATH="$work/bin:$PATH" INSTALL_S=$1 THREADS_S=$2
        exec ./quickstart check
    ) >"$work/out" 2>&1 &
    check=$!
    tries=0
    until [ -s "$work/tree/build/check/installing" ] && [ -s "$work/tree/build/tsan/threads" ]; do
        [ $((tries += 1)) -le 600 ] || break
        sleep 0.1
    done
    read -r installing <"$work/tree/build/check/installing"
    group=$(cut -d ' ' -f 5 "/proc/$installing/stat")
}
gone() { # PROCESS: within some seconds
    for _ in $(seq 100); do
        case $(cut -d ' ' -f 3 "/proc/$1/stat" 2>/dev/null) in '' | Z) return 0 ;; esac
        sleep 0.1
    done
    return 1
}
if [ -r /proc/self/stat ]; then
    begin 30 30
    kill -TERM $check
    wait $check 2>/dev/null
    rule "SIGTERM also ends the background" gone "$installing"
    read -r threads <"$work/tree/build/tsan/threads"
    kill "$threads"

    for step in installcheck distcheck-without-CUDA; do # what a former check has left
        echo '# PASS:  9' >"$work/tree/build/quickstart-logs/$step.log"
        echo 0 1 >"$work/tree/build/quickstart-logs/$step.log.ended"
    done
    begin 30 0
    [ "$group" = "$(cut -d ' ' -f 5 /proc/$$/stat)" ] || kill -KILL "-$group"
    wait $check
    rule "a background part that was killed fails" test $? = 1
    rule "with each of its steps" last 1 '^13 passed, 2 failed$'
else
    echo "no /proc: what signals do is not checked"
fi

rm "$work/installs"
run check
rule "without packages nothing is checked" test $? = 1
rule "quickstart check needs cmocka" grep -q '^== missing: .*libcmocka-dev' "$work/out"
exit $failed
