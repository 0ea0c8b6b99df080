#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# shpool-coalesce as users call it: findings word by word, exit statuses, JSON and SARIF.  What
# needs nvcc is in nvcc.sh.
#
#   top_srcdir, top_builddir
#
# Prints one PASS or FAIL line for each expectation.  Exit: 0; 1.
set -u
: "${top_srcdir:=.}" "${top_builddir:=.}"
src=$(cd "$top_srcdir" && pwd)
tool=$(cd "$top_builddir" && pwd)/shpool-coalesce
# shellcheck source=tests/build/checks.sh
. "$src/tests/build/checks.sh"
# shellcheck source=tests/coalesce/decisions.sh
. "$src/tests/coalesce/decisions.sh"
tmp=$work

# ---- findings, word by word; nvcc.sh has the same for all kernels ----
cd "$src/tests/coalesce" || exit 1
about lint.ptx <lint.txt >"$tmp/wanted"
"$tool" lint -r -c always lint.ptx | plain >"$tmp/lint"
same "findings about lint.cu, with excerpts" "$tmp/wanted" "$tmp/lint"
for name in suite defects; do
    files=
    for kernel in $(sed -n 's/.* remark: \([a-z0-9_]*\): .*/\1/p' $name.txt | sort -u); do
        [ ! -f "../corpus/ptx/$kernel.ptx" ] || files="$files ../corpus/ptx/$kernel.ptx"
    done
    # shellcheck disable=SC2086
    about $files <$name.txt >"$tmp/wanted"
    # shellcheck disable=SC2086
    "$tool" lint -r $(how $name) $files | decisions >"$tmp/decisions"
    same "decisions about $(echo $files | wc -w) kernels of $name" "$tmp/wanted" "$tmp/decisions"
done
for file in ../corpus/ptx/rows64.ptx ../corpus/ptx/cannot_ask.ptx hand.ptx; do
    says_what_it_does $file
done

# ---- headers that are not the user's ----
# header SHOWN FILE: is what lies in FILE printed?
header() {
    sed "s#\"lint.cu\"#\"$2\"#" lint.ptx >"$tmp/header.ptx"
    "$tool" lint --fail-on note "$tmp/header.ptx" >"$tmp/all" 2>"$tmp/left"
    status=$? lines=$(grep -c 'warning: \|note: ' "$tmp/all")
    if [ "$1" = yes ]; then
        [ $status = 1 ] && [ "$lines" -gt 9 ] && [ ! -s "$tmp/left" ]
    else
        [ $status = 0 ] && [ "$lines" = 0 ] &&
            [ "$(cat "$tmp/left")" = "shpool-coalesce: 9 findings in headers of the system and of \
shpool are left out; --headers shows them" ]
    fi
    result $? "$2: shown: $1" || cat "$tmp/all" "$tmp/left"
}
for file in a.cuh /home/a/b.cuh /opt/a/b.h /usr/src/a/b.cuh /home/shpool/a.cuh ../include/a.cuh \
    /home/cuda/a.h /usr/lib/a.cu include/shpool/a.cu /home/a/noending; do
    header yes $file
done
for file in /usr/include/a.h /usr/local/include/a.hpp /usr/include/c++/13/vector \
    /usr/lib/gcc/x86_64-linux-gnu/13/include/a.h /usr/lib/llvm-19/lib/clang/19/include/a.h \
    /opt/llvm/lib/clang/19/include/a.h /opt/cuda/include/a.h \
    /usr/local/cuda-13.0/include/cccl/cub/a.cuh /data/cuda-13.0/include/cccl/cub/a.cuh \
    /usr/local/cuda/bin/../targets/x86_64-linux/include/cub/a.cuh \
    /opt/nvidia/targets/sbsa-linux/include/thrust/a.inl /home/a/include/shpool/impl/a.h \
    include/shpool/shpool.cuh /usr/include/shpool/a.cuh \
    /home/a/venv/lib/python3/site-packages/nvidia/a.h; do
    header no $file
done
expect 0 'a.h:11:9: warning: one_field' "$tool" lint --headers "$tmp/header.ptx"
expect 0 'remark: one_field' "$tool" lint -r --headers "$tmp/header.ptx"
expect 0 ': 8 findings in headers' "$tool" lint -l warning "$tmp/header.ptx"
expect 0 ': [0-9]* findings in headers' "$tool" rewrite -r "$tmp/header.ptx" -o /dev/null
expect 0 'a.h:11:9: remark' "$tool" rewrite -r --headers "$tmp/header.ptx" -o /dev/null

# ---- commands and statuses ----
expect 0 '^usage' "$tool" --help
expect 0 '^shpool-coalesce [0-9]' "$tool" --version
expect 2 'a command is missing' "$tool"
expect 2 '"lent" is not a command (did you mean "lint"?)' "$tool" lent
expect 2 'a file is missing' "$tool" lint
expect 2 'unknown option' "$tool" lint --jason lint.ptx
expect 2 '--fail-on takes warning, note or remark, not error' "$tool" lint --fail-on error lint.ptx
expect 2 '1 to 3 numbers' "$tool" lint --block 0 lint.ptx
expect 2 'rewrite needs -o FILE' "$tool" rewrite hand.ptx
expect 2 'rewrite needs exactly one file, not also lint.ptx' \
    "$tool" rewrite hand.ptx lint.ptx -o x.ptx
expect 3 'No such file' "$tool" lint nothing.ptx
expect 3 'the name must end in .cu, .ptx, .ll or .bc' "$tool" lint lint.txt
expect 0 'warning' "$tool" lint lint.ptx
expect 1 'warning' "$tool" lint --fail-on warning lint.ptx
expect 1 'warning' "$tool" lint --fail-on note --level warning lint.ptx
expect 0 'warp transpose' "$tool" costs
expect 0 'half or more used' "$tool" costs
expect 0 'bytes, half-words' "$tool" costs
expect 0 'rows of the block that are a run-time distance apart' "$tool" lint --block 4,4 lint.ptx
"$tool" lint --block 16,16 lint.ptx >"$tmp/narrow" # rows of 64 bytes waste nothing
expect 1 '^0$' grep -c -e clamped -e tile16 "$tmp/narrow"
printf '.version 8.0\n.target sm_80\n.address_size 64\n.entry k() { add r1 }\n' >"$tmp/bad.ptx"
expect 3 'bad.ptx:4:21: error: a semicolon is missing' "$tool" lint "$tmp/bad.ptx"
cp "$tmp/bad.ptx" "$tmp/kept.ptx"
expect 3 'a semicolon is missing' "$tool" rewrite "$tmp/bad.ptx" -o "$tmp/kept.ptx"
same "a bad input leaves the output alone" "$tmp/bad.ptx" "$tmp/kept.ptx"
: >"$tmp/empty.ptx"
expect 3 'empty.ptx:1:1: error: PTX begins with .version' "$tool" lint "$tmp/empty.ptx"
head -c 3000 "$tool" >"$tmp/binary.ptx"
expect 3 'binary.ptx:1:1: error: ' "$tool" lint "$tmp/binary.ptx"
mkdir "$tmp/folder.ptx"
expect 3 'Is a directory' "$tool" lint "$tmp/folder.ptx"
expect 3 'binary.ptx:1:1: error: ' "$tool" lint "$tmp/binary.ptx" lint.ptx
expect 3 'warning: one_field' "$tool" lint "$tmp/binary.ptx" lint.ptx
expect 0 'rewritten' "$tool" rewrite -r hand.ptx -o "$tmp/hand.ptx"
expect 3 'already rewritten' "$tool" rewrite "$tmp/hand.ptx" -o "$tmp/again.ptx"
expect 0 '' "$tool" rewrite --no-loads --no-stores --no-copies --no-rows hand.ptx \
    -o "$tmp/same.ptx"
expect 0 '^hand.ptx:[0-9]*: remark' "$tool" rewrite -r hand.ptx -o "$tmp/same2.ptx"
same "with everything left out the text stays" hand.ptx "$tmp/same.ptx"
spread <kept.txt >"$tmp/kept.ptx"
expect 0 '22' grep -c entry "$tmp/kept.ptx"
expect 0 '' "$tool" rewrite --force "$tmp/kept.ptx" -o "$tmp/same.ptx"
same "what must be kept is, though forced" "$tmp/kept.ptx" "$tmp/same.ptx"
# parameters may have any names: these are the kernel's, and "out" is a call's in the inner scope
cat >"$tmp/named.ptx" <<'PTX'
.version 8.5
.target sm_90
.address_size 64
.extern .func own_place(.param .b64 out);
.visible .entry scale(.param .u64 .ptr .global .align 4 in, .param .align 8 .b8 box[16],
	.param .u64 out)
.maxntid 256, 1, 1
{
	.reg .b32 %r<8>;
	.reg .b64 %rd<12>;
	ld.param.u64 %rd1, [in];
	ld.param.u64 %rd2, [box+8];
	mov.u32 %r1, %tid.x;
	mul.wide.u32 %rd4, %r1, 4;
	add.s64 %rd5, %rd1, %rd4;
	add.s64 %rd6, %rd2, %rd4;
	ld.global.u32 %r2, [%rd5];
	st.global.u32 [%rd6], %r2;
	ret;
}
.visible .entry shadowed(.param .u64 in, .param .u64 out)
{
	.reg .b32 %r<8>;
	.reg .b64 %rd<12>;
	ld.param.u64 %rd1, [in];
	{
	.param .b64 out;
	ld.param.u64 %rd2, [out];
	}
	mov.u32 %r1, %tid.x;
	mul.wide.u32 %rd4, %r1, 4;
	add.s64 %rd6, %rd2, %rd4;
	ld.global.u32 %r2, [%rd1];
	st.global.u32 [%rd6], %r2;
	ret;
}
PTX
expect 0 'shadowed: 1 global store .*irregular' "$tool" lint "$tmp/named.ptx"
expect 0 'named.ptx:34: note: shadowed' "$tool" lint "$tmp/named.ptx"
"$tool" lint "$tmp/named.ptx" >"$tmp/named"
{ # line 0 is code that the compiler moved: the finding is at the kernel's head
    sed 's/^	ld.param.u64 %rd2, \[out\];/	.loc 1 7 0\n&\n	.loc 1 0 9/' "$tmp/named.ptx"
    echo '.file 1 "moved.cu"'
} >"$tmp/moved.ptx"
expect 0 'moved.cu:7: note: shadowed' "$tool" lint "$tmp/moved.ptx"
! grep -q 'scale' "$tmp/named"
result $? "parameters of any name"

# retval0 is a call's result, not a parameter of the kernel, and differs from lane to lane
cat >"$tmp/called.ptx" <<'PTX'
.version 8.5
.target sm_90
.address_size 64
.extern .func (.param .b64 retval0) own_place();
.visible .entry retval(.param .u64 retval_param_0, .param .u64 retval_param_1)
{
	.reg .b32 %r<8>;
	.reg .b64 %rd<12>;
	ld.param.u64 %rd1, [retval_param_0];
	ld.param.u64 %rd2, [retval_param_1];
	{
	.param .b64 retval0;
	call (retval0), own_place;
	ld.param.b64 %rd3, [retval0];
	}
	mov.u32 %r1, %tid.x;
	mul.wide.u32 %rd4, %r1, 12;
	add.s64 %rd5, %rd1, %rd4;
	add.s64 %rd6, %rd2, %rd4;
	add.s64 %rd7, %rd6, %rd3;
	ld.global.u32 %r2, [%rd7];
	st.global.u32 [%rd5], %r2;
	ld.global.u32 %r3, [%rd7+4];
	st.global.u32 [%rd5+4], %r3;
	ld.global.u32 %r4, [%rd7+8];
	st.global.u32 [%rd5+8], %r4;
	ret;
}
PTX
expect 0 '' "$tool" rewrite --force --no-stores "$tmp/called.ptx" -o "$tmp/same.ptx"
same "a call's result is not taken for a parameter" "$tmp/called.ptx" "$tmp/same.ptx"

# ---- a full disk: an error, and no files are left ----
if [ -c /dev/full ]; then
    for how in lint "lint --json" "lint --sarif"; do
        expect 3 'standard output: No space' sh -c "'$tool' $how lint.ptx >/dev/full"
    done
    expect 3 'standard output: No space' sh -c "'$tool' costs >/dev/full"
    expect 3 'full: No space' "$tool" lint lint.ptx -o /dev/full
    expect 3 'full: No space' "$tool" rewrite hand.ptx -o /dev/full
fi
echo old >"$tmp/full.ptx"
expect 3 'full.ptx: File too large' sh -c \
    "trap '' XFSZ; ulimit -f 8; '$tool' rewrite hand.ptx -o '$tmp/full.ptx'"
expect 0 '^old$' cat "$tmp/full.ptx"
expect 1 '^0$' sh -c "ls '$tmp' | grep -c part"

# ---- an output that is an input would be lost ----
cp hand.ptx "$tmp/in.ptx"
ln -s in.ptx "$tmp/link.ptx"
ln "$tmp/in.ptx" "$tmp/hard.ptx"
for out in in.ptx link.ptx hard.ptx ./in.ptx; do
    expect 2 'the output must not be the input .*in.ptx' "$tool" rewrite "$tmp/in.ptx" \
        -o "$tmp/$out"
    expect 2 'the output must not be the input .*in.ptx' "$tool" lint lint.ptx "$tmp/in.ptx" \
        -o "$tmp/$out"
done
same "the input is as it was" hand.ptx "$tmp/in.ptx"
cp hand.ptx "$tmp/out.ptx.part"
expect 0 '' "$tool" rewrite "$tmp/out.ptx.part" -o "$tmp/out.ptx"
same "an input that is called .part stays" hand.ptx "$tmp/out.ptx.part"
expect 0 '' "$tool" lint lint.ptx -o /dev/null
rm "$tmp/out.ptx.part"

# ---- untrusted PTX: file names, and control characters of terminals ----
# excerpt TEXT FOLDER FILE [OPTION...]: of line 7 of FILE, which FOLDER/x.ptx names; no TEXT: none
excerpt() {
    text=$1 folder=$2 file=$3
    shift 3
    sed "s#\"lint.cu\"#\"$file\"#; s/\.loc.1 [0-9]*/.loc	1 7/" lint.ptx >"$folder/x.ptx"
    LC_ALL=C timeout 300 "$tool" lint -c always "$@" "$folder/x.ptx" >"$tmp/excerpts" 2>&1
    if [ $? -ne 0 ] || ! grep -q warning "$tmp/excerpts"; then
        result 1 "excerpt of $file: $(head -3 "$tmp/excerpts")"
    elif [ -z "$text" ]; then
        expect 1 '^0$' grep -c '^ *7 | ' "$tmp/excerpts"
    else
        expect 0 '' grep -F -- "    7 | $text" "$tmp/excerpts"
    fi
}
mkdir -p "$tmp/project/sub" "$tmp/elsewhere"
seq 20 | sed 's/^7$/secret/' | tee "$tmp/project/sub/a.cu" >"$tmp/elsewhere/b.cu"
mkfifo "$tmp/project/fifo.ptx"
ln -s "$tmp/elsewhere/b.cu" "$tmp/project/link.cu"
excerpt secret "$tmp/project" "$tmp/project/sub/a.cu"
excerpt secret "$tmp/project/sub" "$tmp/project/sub/a.cu"
excerpt "" "$tmp/project" "$tmp/elsewhere/b.cu"
excerpt "" "$tmp/project" "$tmp/project/../elsewhere/b.cu"
excerpt "" "$tmp/project" "$tmp/project/link.cu"
excerpt secret "$tmp/project" "$tmp/project/link.cu" --sources "$tmp/elsewhere"
excerpt secret "$tmp/project" "$tmp/elsewhere/b.cu" -d /usr -d "$tmp/elsewhere/"
excerpt secret "$tmp/project" "$tmp/elsewhere/b.cu" --sources /
excerpt "" "$tmp/project" "$tmp/project/fifo.ptx"
excerpt "" "$tmp/project" /dev/zero --sources /
dd if="$tmp/elsewhere/b.cu" of="$tmp/project/large.cu" conv=sync bs=17M 2>/dev/null
excerpt "" "$tmp/project" "$tmp/project/large.cu"
expect 2 'takes a folder, not .*b.cu' "$tool" lint --sources "$tmp/elsewhere/b.cu" lint.ptx
for command in lint "rewrite -o $tmp/none"; do
    # shellcheck disable=SC2086
    expect 3 'fifo.ptx: is a FIFO' timeout 300 "$tool" $command "$tmp/project/fifo.ptx"
done
tab=$(printf '\t')
seq 20 | sed "s/^7\$/$tab$(printf '\033]0;title\007\302\233x\342\200\256y\303\251\377')/" \
    >"$tmp/project/a.cu"
excerpt "$(printf '\t\\x1b]0;title\\x07\\xc2\\x9bx\\xe2\\x80\\xaey\303\251\\xff')" \
    "$tmp/project" "$tmp/project/a.cu"
excerpt "" "$tmp/project" "$(printf 'a\033[2Jb\177.cu')"
expect 0 '' grep -F 'a\x1b[2Jb\x7f.cu:7:' "$tmp/excerpts"
printf '.version 8.0\n.target sm_80\n.address_size 64\n.entry k() { "\033[2J" }\n' >"$tmp/bad.ptx"
expect 3 'at ""\\x1b\[2J""' "$tool" lint "$tmp/bad.ptx"
expect 3 'no\\x1b\[file.ptx: No such' "$tool" lint "$(printf 'no\033[file.ptx')"
expect 2 '"a\\x07" is not a command' "$tool" "$(printf 'a\007')"

# ---- names ----
sed 's/one_field/_ZN5space9one_fieldIiEEvPiPKf/g' lint.ptx >"$tmp/names.ptx"
if "$tool" lint "$tmp/names.ptx" | grep -q 'warning: space::one_field<int>: '; then
    echo "PASS names are shown as they were written"
    "$tool" lint --skip 'space::one_field<int>' "$tmp/names.ptx" >"$tmp/skipped"
    expect 0 'warning: inlined: ' cat "$tmp/skipped"
    expect 1 '^0$' grep -c 'one_field' "$tmp/skipped"
else
    expect 0 'warning: _ZN5space9one_fieldIiEEvPiPKf: ' "$tool" lint "$tmp/names.ptx"
fi

# ---- a folder of programs ----
mkdir -p "$tmp/programs/sub"
cp lint.ptx "$tmp/programs/sub/a b.ptx"
cp "$tmp/bad.ptx" "$tmp/programs"
survey=$src/tools/coalesce/survey.sh
expect 0 '^1 files linted, 1 refused, [1-9]' sh "$survey" -t "$tool" "$tmp/programs"
expect 0 ' 4 .* 2 .* 2 .* 2 .*sub/a b.ptx$' sh "$survey" -t "$tool" "$tmp/programs"
sh "$survey" -t "$tool" -o "$tmp/found" -n 4 "$tmp/programs" >"$tmp/survey"
expect 0 '^4$' grep -c '^lint.cu:' "$tmp/survey"
expect 0 '^[1-9]' grep -c 'warning: one_field' "$tmp/found"
expect 2 'is not a folder' sh "$survey" -t "$tool" "$tmp/found"
expect 2 '^usage' sh "$survey" -n many "$tmp/programs"
expect 1 '^0 files linted, 0 refused, 0 findings' sh "$survey" -t "$tool" "$src/man"

# ---- JSON and SARIF ----
"$tool" lint --json lint.ptx >"$tmp/json" 2>/dev/null
expect 0 '"rule": "bank-conflict"' cat "$tmp/json"
expect 0 '"inlined_at": {' cat "$tmp/json"
expect 0 '"version": "2.1.0"' "$tool" lint --sarif lint.ptx
expect 0 '"startColumn": 13' "$tool" lint --sarif lint.ptx
expect 1 '"ruleId": "pitch"' "$tool" lint --sarif --fail-on warning lint.ptx
if command -v python3 >/dev/null; then
    expect 0 '^$' python3 -c "import json, sys; json.load(open(sys.argv[1])); print()" \
        "$tmp/json"
    name=$(printf 'a b/\377lint%%.cu')
    LC_ALL=C sed "s#\"[^\"]*lint.cu\"#\"$name\"#" lint.ptx >"$tmp/places.ptx"
    "$tool" lint --sarif "$tmp/places.ptx" >"$tmp/sarif"
    cat >"$tmp/uri.py" <<'PYTHON'
import json, sys
for result in json.load(open(sys.argv[1]))['runs'][0]['results']:
    assert isinstance(result['message']['text'], str)
    print(result['locations'][0]['physicalLocation']['artifactLocation']['uri'])
PYTHON
    expect 0 '^a%20b/%FFlint%25.cu$' python3 "$tmp/uri.py" "$tmp/sarif"
fi

# ---- with a stand-in for nvcc, whose cicc copies a PTX ----
mkdir -p "$tmp/toolkit/bin" "$tmp/toolkit/nvvm/bin" "$tmp/temporary"
cat >"$tmp/toolkit/bin/nvcc" <<'NVCC'
#!/bin/sh
for word; do
    [ "$last" != -o ] || output=$word
    [ "$word" != --no-such-option ] || exit 1
    last=$word
done
exec "${CICC_PATH:-$(dirname "$0")/../nvvm/bin}/cicc" in.cu -o "$output"
NVCC
cat >"$tmp/toolkit/nvvm/bin/cicc" <<'CICC'
#!/bin/sh
cp "$(dirname "$0")/../../in.ptx" "$3"
CICC
chmod +x "$tmp/toolkit/bin/nvcc" "$tmp/toolkit/nvvm/bin/cicc"
in_toolkit() { env TMPDIR="$tmp/temporary" PATH="$tmp/toolkit/bin:$PATH" "$@"; }
stand_in() { # STATUS TEXT OPTION...: before -- those of the tool, after it nvcc's
    status_expected=$1
    text_expected=$2
    shift 2
    rm -f "$tmp/app.ptx"
    expect "$status_expected" "$text_expected" in_toolkit "$tool" nvcc "$@" -o "$tmp/app.ptx"
}
cp "$src/tests/corpus/ptx/rows64.ptx" "$tmp/toolkit/in.ptx"
"$tool" rewrite --force "$tmp/toolkit/in.ptx" -o "$tmp/rewritten.ptx"
stand_in 0 'app.ptx: [1-9][0-9]* records rewritten' -v --force -- -ptx
same "PTX that the stand-in made is rewritten" "$tmp/rewritten.ptx" "$tmp/app.ptx"
stand_in 0 \
    '^shpool-coalesce: [1-9][0-9]* records* rewritten in 1 compilation; .* nvcc -r' --force -- -ptx
stand_in 0 'remark' -r --force -- -ptx
cp "$tmp/toolkit/in.ptx" "$tmp/rows.ptx"
cp "$tmp/header.ptx" "$tmp/toolkit/in.ptx"
stand_in 0 ': [0-9]* findings in headers' -r -- -ptx
stand_in 0 'a.h:11:9: remark' -r --headers -- -ptx
cp "$tmp/rows.ptx" "$tmp/toolkit/in.ptx"
stand_in 0 ': 0 records rewritten' -v --force --no-loads --no-stores --no-copies --no-rows -- -ptx
same "PTX that is not rewritten" "$tmp/toolkit/in.ptx" "$tmp/app.ptx"
kernel=$(sed -n 's/.*\.entry \([A-Za-z0-9_]*\).*/\1/p' "$tmp/toolkit/in.ptx" | head -1)
stand_in 0 ': 0 records rewritten' -v --force --skip other --skip "$kernel" -- -ptx
stand_in 1 '' -- --no-such-option
expect 3 '/nowhere/nvcc of a toolkit .* was not found' "$tool" /nowhere/nvcc -ptx app.cu
echo 'no PTX' >"$tmp/toolkit/in.ptx"
stand_in 0 'app.ptx:1:1: .*: left as it is' -- -ptx
same "what is no PTX" "$tmp/toolkit/in.ptx" "$tmp/app.ptx"
ln -s "$tool" "$tmp/cicc"
expect 3 'called as cicc, but not by shpool-coalesce nvcc' "$tmp/cicc"
: >"$tmp/app.cu"
cp "$src/tests/coalesce/hand.ptx" "$tmp/toolkit/in.ptx"
expect 0 '' in_toolkit "$tool" lint "$tmp/app.cu"
expect 3 'nvcc ended with 1' in_toolkit "$tool" lint "$tmp/app.cu" -- --no-such-option
expect 3 'nvcc is needed to lint a .cu file' env PATH=/nowhere "$tool" lint "$tmp/app.cu"
expect 3 'a temporary folder cannot be made' env TMPDIR=/nowhere \
    PATH="$tmp/toolkit/bin:$PATH" "$tool" nvcc -ptx app.cu
[ "$(ls "$tmp/temporary")" = '' ]
result $? "no temporary files are left $(ls "$tmp/temporary")"

exit $failed
