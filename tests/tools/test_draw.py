# SPDX-License-Identifier: BSD-3-Clause
"""What tools/bench/draw.py draws: tables of traces and results, by tests/tools/plot.sh.

    test_draw.py SHPOOL_BENCH FOLDER     FOLDER has a python3 that prints its input

Prints a PASS line for each test; exit: 0 or 1.
"""
import json
import os
import pathlib
import subprocess
import sys
import xml.dom.minidom

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "tools/bench"))
import draw

BENCH, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2])


def trace(records, threads=3, share=3, pools=1, size=1024, runs=1, **options):
    """The data of a map, as shpool-bench writes it."""
    text = (f"shpool-trace 2\nallocator bitmap\nblock_threads {threads}\nthreads_per_pool {share}\n"
            f"pools {pools}\npool_bytes {size}\nlargest 900\nalignment 16\ncheck 0\nspill 0\n"
            f"block 0 launch 1 records {len(records)} dropped 0\n")
    (FOLDER / "trace").write_text(text + "\n".join(records + ["end 1\n"]))
    words = [f"--{key}={value}" for key, value in options.items()]
    subprocess.run([BENCH, "map", FOLDER / "trace", "--svg", FOLDER / "data.svg"] + words,
                   check=True, env={**os.environ, "PATH": f"{FOLDER}:/usr/bin:/bin"})
    return json.loads((FOLDER / "data.svg").read_text())


def svg(page):
    """The text of a picture that is well-formed, and 800 pixels wide."""
    text = page.picture("svg").decode()
    assert xml.dom.minidom.parseString(text).documentElement.getAttribute("width") == "600pt"
    return text


def expect(text, *parts):
    for part in parts:
        assert part in text, f'no "{part}"'


# two threads; an allocation that the other one frees; one failure; one that is never freed
HANDED = ["m 0 0x0 200 208 16 0", "m 1 0x100 100 112 16 5", "m 0 - 800 0 16 0", "r 0 0x0 100 112",
          "f 1 0x0 0 0", "f 1 0x0 3 0", "m 0 0x200 64 64 64 0", "f 0 0x100 0 0"]


def test_map():
    data = {**trace(HANDED, 2, 2), "allocator": '<a&"b$x_1$>'}
    m = draw.Map(data)
    assert [p[:4] for p in m.pieces] == [(0, 3, 0, 208), (3, 4, 0, 112), (1, 6, 256, 368),
                                         (5, 7, 512, 576)]
    assert (m.failures, m.low, m.high) == ([2], 0, 576)
    assert m.held == {"thread 0": 208 * 3 + 112 + 64 * 2, "thread 1": 112 * 5}
    expect(svg(draw.draw_map(data)), '&lt;a&amp;"b$x_1$&gt;', "thread 0: 61%",
           "thread 1: 39%", "block 0, launch 1, 2 threads, 1 pool of 1024 bytes", "1 failed",
           "thread 0 requested 800 bytes; pool 0 has 704 free, the largest hole 656 at 0x170,",
           "(never freed)</title>", 'id="failure-1"', "used: 0x0 to 0x240")


def test_part():
    data = trace(HANDED, 2, 2, color="size", **{"from": 5, "to": 7})
    m = draw.Map(data)
    assert [p[:4] for p in m.pieces] == [(5, 6, 256, 368), (5, 7, 512, 576)] and not m.failures
    expect(svg(draw.draw_map(data)), ">64 to 127 bytes: 100%<", "colour: size, light is large")
    assert draw.size_name(10) == "1 to 2 KiB" and draw.size_name(0) == "0 to 1 bytes"


def test_crop():
    """The used part of the pools, whatever their size."""
    for records, shape, low, high, pools in (
            (["m 0 0x400 256 256 16 0", "m 1 0x600 100 112 16 0"], (2, 2, 1, 65536),
             0x400, 0x670, 0),
            (["m 0 0xf00 16 16 16 0", "m 1 0x1100 100 112 16 0"], (2, 1, 2, 4096),
             0xf00, 0x1170, 1),
            (["m 0 0x100 16 16 16 0", "r 0 0x100 500 512", "f 0 0x100 0 0"], (1, 1, 1, 4096), 0x100,
             0x300, 0),
            (["m 0 0x100 16 16 16 0", "m 0 g0x10 16 16 16 0"], (1, 1, 1, 4096), 0x100, 0x110, 0),
            # what allocators do not give out is no part of the pools
            (["m 0 0x100 16 16 16 0", "m 0 0x3f0 64 64 16 0"], (1, 1, 1, 1024), 0x100, 0x400, 0),
            (["m 0 - 2000 0 16 0"], (1, 1, 1, 1024), 0, 0x400, 0)):
        data = trace(records, *shape)
        m = draw.Map(data)
        assert (m.low, m.high) == (low, high), records
        drawn = draw.draw_map(data)
        assert drawn.figure.axes[0].get_ylim() == (low, high), records
        text = svg(drawn)
        assert text.count('id="pool-') == pools, records
        expect(text, f">0x{high:x}<", "nothing was used" if not m.pieces else f"0x{low:x} to")


def test_head():
    """The allocator's data at the start of a pool is not a hole, as far as all pools show it."""
    for records, at, free in (
            (["m 0 0x80 16 16 16 0", "m 1 0x460 16 16 16 0", "m 0 - 950 0 16 0"], 2, 1024 - 112),
            # no allocation that low: at most the overhead of a fresh pool
            (["m 0 0x100 16 16 16 0", "m 0 - 950 0 16 0"], 1, 900 - 16),
            # spilled: not in the pools
            (["m 0 0x100 16 16 16 0", "m 0 g0x10 16 16 16 0", "m 0 - 950 0 16 0"], 2, 900 - 16)):
        m = draw.Map(trace(records, 2, 1, 2))
        assert draw.explain(m.data, m.ops, at)[:2] == (0, free), records
    records = ["m 0 0x60 16 16 16 0", "f 0 0x60 0 0", "m 0 0x200 500 512 16 0", "m 0 - 600 0 16 0"]
    m = draw.Map(trace(records, 1, 1))
    assert draw.reason(m.data, m.ops, 3).endswith(
        "the largest hole 416 at 0x60, between the pool's metadata and thread 0's 500 bytes at "
        "0x200")
    m = draw.Map(trace(["m 0 0x60 928 928 16 0", "m 0 - 600 0 16 0"], 1, 1))  # full
    assert draw.reason(m.data, m.ops, 1).endswith("requested 600 bytes; pool 0 has 0 free")


def test_taken():
    """The hole of 400 bytes at 0x70 was large enough: did a malloc recorded later take it?"""
    first = ["m 0 0x60 16 16 16 0", "m 1 0x200 256 256 16 0"]
    for who, later, takers, left in (
            ("0", ["m 2 0x100 200 208 16 0"], [3], 256),
            ("0", ["f 0 0x60 0 0", "m 2 0x100 200 208 16 0"], [4], 256),
            ("0", ["m 2 0x100 16 16 16 0", "m 1 0x190 100 112 16 0"], [3, 4], 256),
            ("0", ["m 2 0x1e0 16 16 16 0"], [3], 368),
            # it was not under way: its thread did something else in between
            ("0", ["m 2 - 800 0 16 0", "m 2 0x100 200 208 16 0"], [], 400),
            ("0", ["m 0 0x100 200 208 16 0"], [], 400),
            # another one had it first
            ("0", ["m 1 - 900 0 16 0", "m 1 0x100 200 208 16 0", "f 1 0x100 0 0",
                   "m 2 0x100 200 208 16 0"], [], 400),
            # a part of it was freed later
            ("0", ["f 0 0x60 0 0", "m 2 0x60 200 208 16 0"], [], 400),
            # elsewhere
            ("0", ["m 2 0x300 16 16 16 0"], [], 400),
            # groups: the first thing that all members did
            ("8+7", ["m 32+31 0x100 200 208 16 0", "m 2 - 900 0 16 0"], [3], 256),
            ("8+7", ["m 16+7 0x100 200 208 16 0", "m 2 - 900 0 16 0"], [3], 256),
            ("8+7", ["m 40 - 900 0 16 0", "m 32+31 0x100 200 208 16 0"], [], 400),
            ("8+7", ["m 32+31 - 900 0 16 0", "m 40 0x100 200 208 16 0"], [], 400),
            # those that failed were not anywhere else
            ("8+7", ["m 12 0x100 200 208 16 0", "m 2 - 900 0 16 0"], [], 400),
            ("8+7", ["m 0+31 0x100 200 208 16 0"], [], 400),
            ("8+7", ["m 0+63 0x100 200 208 16 0"], [], 400)):
        threads = 3 if who == "0" else 64
        m = draw.Map(trace(first + [f"m {who} - 300 0 16 0"] + later, threads, threads))
        found = draw.explain(m.data, m.ops, 2)
        assert found[2][:2] == (400, 0x70) and found[3:] == (takers, left), (who, later, found)
        text = draw.reason(m.data, m.ops, 2)
        assert ("already taken in it" in text) == bool(takers)
        assert text.endswith(" *") == (left >= 300)
        assert ("and 1 more" in text) == (len(takers) == 2)
    # too small anyway
    m = draw.Map(trace(["m 0 0x0 512 512 16 0", "m 0 - 600 0 16 0", "m 1 0x200 16 16 16 0"], 2, 2))
    assert draw.explain(m.data, m.ops, 1)[3:] == ([], 512)


def test_groups():
    records = ["m 5 0x0 64 64 16 0", "m 0+31 0x40 256 256 16 0", "m 8+7 0x140 128 128 64 0",
               "m 64+7 0x1c0 64 64 16 0", "w 32+31 - 512 0 16 0", "m 0+71 - 4000 0 16 0",
               "m 32+31 0x200 512 512 16 0", "m 0+71 0x400 1024 1024 16 0", "r 64+7 0x140 64 64",
               "f 69+7 0x40 0 0", "f 0+71 0x0 0 0", "f 5 0x200 0 0"]
    expect(svg(draw.draw_map(trace(records, 72, 72, 1, 4096))), "<title>thread 5: 64 bytes",
           "<title>warp 0: 256 bytes", "<title>lanes 8-15 of warp 0: 128 bytes",
           "<title>warp 2: 64 bytes", "<title>the block: 1024 bytes",
           "the block requested 4000 bytes; pool 0 has ", ">the block: ", ">lanes 8-15 of warp 0: ")


def test_many():
    """Failures alike are one sentence; lives of less than a pixel are merged; colours differ."""
    records = ["m 0 0x100 700 704 16 0"] + ["m 1 - 600 0 16 0"] * 40
    m = draw.Map(trace(records))
    assert list(m.reasons().values()) == [list(range(1, 13))]
    expect(svg(draw.draw_map(m.data)), "28 more failures are not described", ">1<", "1-12 (op",
           'id="failure-40"')
    pairs = ["m 1 0x200 16 16 16 0"] + ["m 0 0x100 16 16 16 0", "f 0 0x100 0 0"] * 15000
    expect(svg(draw.draw_map(trace(pairs))), "grey: 15000 allocations that lived for less than a",
           "thread 1: 16 bytes")
    assert draw.ranges([1, 2, 3, 5, 7, 8]) == "1-3, 5, 7-8"
    assert len({draw.group_colour(i) for i in range(21)}) == 21
    light = [2 * r + 7 * g + b for r, g, b, _ in map(draw.size_colour, range(3, 15))]
    assert light == sorted(light) and draw.size_colour(31) == draw.size_colour(14)


# ---- charts ----

EVERY = {"binding": "table", "scope": "", "touched": 0, "median_bytes": 0, "state": "measured",
         "errors": 0, "failures_percent": 0, "threads_per_pool": 0, "payload_bytes": 4096,
         "total_bytes": 0, "threads": 64, "gops": 1.0, "utilisation_percent": None,
         "cycles_per_op": None, "workload": "pairs"}


def chart(rows, figure="gops"):
    return draw.Chart([dict(row) for row in rows], figure, EVERY)


def page(rows, planned=0):
    facts = dict.fromkeys(("device", "driver", "clocks", "version", "date", "repeats", "iterations",
                           "seed", "command"), "$x$")
    return svg(draw.draw_results({"workloads": {"pairs": "malloc, free"}, "results": {
        **facts, "planned": planned, "every": EVERY, "rows": [dict(row) for row in rows]}}, "gops"))


def test_looks():
    """An allocator looks alike in all charts; keys differ in dashes and points."""
    keys = [(name, "table") for name in list(draw.LOOKS) + ["own", "freelist:threads_per_pool=8"]]
    looks = draw.looks_of(keys)
    assert len(set(looks.values())) == len(keys)
    assert {look[0] for look in looks.values()} <= {"#000000", "#e69f00", "#56b4e9", "#009e73",
                                                    "#0072b2", "#d55e00", "#cc79a7", "#999999"}
    assert looks["freelist:threads_per_pool=8", "table"][0] == looks["freelist", "table"][0]
    assert draw.looks_of(keys[::-2])["null", "table"] == looks["null", "table"] == (
        draw.GREY, draw.DOTTED, "")


def test_panels():
    objects = [{"spec": spec, "workload": "objects", "scope": scope, "touched": touched,
                "median_bytes": median} for spec in ("bitmap", "own slot")
               for scope in ("warp", "tile") for touched in (1, 0) for median in (100, 200, 400)]
    swept = [{"spec": "bitmap", "workload": w, "threads": t, "payload_bytes": b}
             for b in (4096, 12288) for t in (32, 64, 128) for w in ("mixed", "ramp")]
    mixed = objects[:2] + [{"spec": "bitmap"}]
    for rows, x, titles in (
            (objects, "median_bytes", ["objects, warp", "objects, warp, untouched", "objects, tile",
                                       "objects, tile, untouched"]),
            (swept, "threads", ["mixed, 4K bytes", "mixed, 12K bytes", "ramp, 4K bytes",
                                "ramp, 12K bytes"]),
            (mixed, None, ["objects, warp, 100 bytes an object",
                           "objects, warp, 200 bytes an object", "pairs"]),
            ([{"spec": "bitmap"}, {"spec": "null"}], None, ["pairs"])):
        c = chart(rows)
        assert (c.x, [c.title(panel[0]) for panel in c.panels]) == (x, titles)
    assert draw.x_places([32, 64, 128, 256]) == {32: 5, 64: 6, 128: 7, 256: 8}
    assert list(draw.x_places([41, 43, 46, 80]).values()) == [0, 1, 2, 3]  # labels would touch
    assert list(draw.x_places([100, 200, 300]).values()) == [100, 200, 300]


def test_axis():
    for values, expected in (((1, 2), (1, "mallocs and frees, Gop/s", 0, False)),
                             ((0.05, 0.01), (1000, "mallocs and frees, Mop/s", 0, False)),
                             ((1, 30), (1, "mallocs and frees, Gop/s", 1 / 1.5, True)),
                             ((0, 30), (1, "mallocs and frees, Gop/s", 0, False))):
        factor, label, low, _, is_log = (c := chart(
            [{"spec": "bitmap", "threads": i, "gops": v} for i, v in enumerate(values, 1)])).scale(
                c.panels[0])
        assert (factor, label, low, is_log) == expected, values
    c = chart([{"spec": "bitmap", "workload": "ramp", "utilisation_percent": 50}], "cycles")
    assert c.scale(c.panels[0])[1] == "percent of the pool used" and c.panels[0][0]["value"] == 50


def test_marks():
    """Rings, crosses, and who is not there."""
    rows = [{"spec": "bitmap"}, {"spec": "a$b$", "failures_percent": 3}, {"spec": "x", "errors": 1},
            {"spec": "y", "state": "failed", "gops": None},
            {"spec": "z", "state": "n/a", "gops": None}]
    for rows in (rows, [{**row, "threads": t} for row in rows for t in (32, 64)]):
        text = page(rows, planned=len(rows) + 1)
        lines = "threads" in rows[0]
        assert text.count('id="refused-') == (2 if lines else 1)
        assert text.count('id="failed-') == 2 * text.count('id="refused-')
        assert text.count('id="series-') == 2
        expect(text, ">a$b$<", "INTERRUPTED", "malloc, free", "requests were refused", ">failed<",
               "n/a: z" if lines else "> n/a<", "clocks: $x$")
    c = chart(rows[:8] + [{**rows[9], "state": "measured"}])
    assert {why: [k[0] for k in keys] for why, keys in c.absent(c.panels[0]).items()} == {
        "not measured": ["z"]}
    text = page([{"spec": "bitmap", "threads": t} for t in (32, 64)], planned=2)
    assert "refused" not in text and "INTERRUPTED" not in text
    expect(text, "bitmap: malloc and free")  # a legend of one line says nothing more


for name, test in [item for item in globals().items() if item[0].startswith("test_")]:
    test()
    print("PASS", name)
