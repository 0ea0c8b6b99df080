# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of shpool-bench: charts of results, and maps of a pool over time.

    draw.py KIND FORMAT [FIGURE] 3<DATA.json >PICTURE

KIND is results (FIGURE is gops, cycles or failed), map, or check, which only tells whether a
picture can be drawn.  FORMAT is svg, png or pdf.  shpool-bench has this file inside and passes it
to Python; results.c and trace/map.c write the data.  Exit status: 0; 1: stderr says why; 3:
there is no matplotlib.
"""
import sys

sys.path[:] = [folder for folder in sys.path if folder]  # not from the current folder

import collections
import io
import json
import logging
import re
import textwrap

try:
    import matplotlib
    import numpy
except ImportError:
    sys.exit(3)
logging.getLogger("matplotlib").setLevel(logging.CRITICAL)  # fonts and caches are not the user's
from matplotlib import colormaps
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

# Colours of Okabe and Ito (Color Universal Design, 2008), which readers with any colour vision tell
# apart.  Their yellow is too light on white.
BLACK, ORANGE, SKY, GREEN = "#000000", "#e69f00", "#56b4e9", "#009e73"
BLUE, VERMILION, PURPLE, GREY = "#0072b2", "#d55e00", "#cc79a7", "#999999"
BAD = "#e00000"   # rings, crosses and failures differ in shape, too
TEXT = "#444444"
WIDTH = 800       # pixels, as wide as a page
LETTERS = 128     # of the caption in a line

matplotlib.rcdefaults()  # the user's settings are for other pictures
matplotlib.rcParams.update({
    "svg.fonttype": "none", "svg.hashsalt": "shpool", "font.sans-serif": "DejaVu Sans",
    "font.size": 9, "axes.labelsize": 9, "axes.titlesize": 10, "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "axes.spines.top": False, "axes.spines.right": False, "axes.axisbelow": True,
    "grid.color": "#d8d8d8", "grid.linewidth": 0.5, "legend.frameon": False, "legend.fontsize": 9})


def plain(text):
    """Text in which matplotlib sees no formula."""
    return text.replace("$", r"\$")


# ---- a page of panels ----

class Page:
    """A figure whose places are in pixels from its upper left corner."""

    def __init__(self, height):
        self.height = height
        self.titles = {}  # of groups of the SVG, by their names
        self.figure = Figure(figsize=(WIDTH / 96, height / 96), facecolor="white")

    def axes(self, left, top, width, height):
        return self.figure.add_axes([left / WIDTH, 1 - (top + height) / self.height,
                                     width / WIDTH, height / self.height])

    def text(self, x, y, text, **options):
        self.figure.text(x / WIDTH, 1 - y / self.height, plain(text),
                         **{"va": "top", "color": TEXT, "fontsize": 8, **options})

    def legend(self, handles, left, top, columns):
        self.figure.legend(handles=handles, loc="upper left", ncol=columns, borderpad=0,
                           bbox_to_anchor=(left / WIDTH, 1 - top / self.height), borderaxespad=0,
                           handlelength=2.6, columnspacing=1.5, labelspacing=0.35)

    def picture(self, form):
        keys = {"svg": ("Date", "Creator", "Format", "Type"), "pdf": ("CreationDate",)}
        data = io.BytesIO()
        self.figure.savefig(data, format=form, dpi=192, metadata=dict.fromkeys(keys.get(form, ())))
        data = data.getvalue()
        return tidy(data.decode(), self.titles).encode() if form == "svg" else data


def tidy(svg, titles):
    """The SVG with titles, classes in place of styles, two decimals, and without comments, numbered
    names, turns by nothing and groups that say nothing."""
    styles, groups = {}, []

    def short(match):
        tag = re.sub(r' id="[\w.]+_\d+"| transform="rotate\(-0 [^"]*"|(?<=\.\d\d)\d+|\n', "",
                     match[0])
        if tag == "</g>":
            return groups.pop()
        if re.match("<g[ >]", tag):
            groups.append("</g>" if " " in tag else "")
            return re.sub(' id="(op-.*)">', lambda m: f"><title>{titles[m[1]]}</title>",
                          tag if groups[-1] else "")
        tag = re.sub(r'(?<= d=")[^"]*', lambda m: re.sub(" *([MLCQz]) *", r"\1", m[0]), tag)
        return re.sub(' style="([^"]*)"',
                      lambda m: f' class="c{styles.setdefault(m[1], len(styles))}"', tag)

    svg = re.sub("<[^<>]+>", short, re.sub("<!--.*?-->", "", svg, flags=re.S))
    rules = "".join(f".c{i}{{{style}}}" for style, i in styles.items())
    svg = svg.replace("</style>", rules.replace(": ", ":").replace("; ", ";") + "</style>", 1)
    return re.sub("(.{130,}?>)(?=<)", r"\1\n", re.sub(r">\s+<", "><", svg))


# ---- charts of results ----

DIMENSIONS = {  # what can be swept: the axis, and the unit
    "threads": ("threads of a block", "threads"),
    "bytes": ("bytes of a block's pools", "bytes"),
    "threads_per_pool": ("threads that share a pool (0: the allocator's choice)", "threads a pool"),
    "median_bytes": ("median bytes of an object", "bytes an object")}

FIGURES = {  # member, label, label of a thousandth
    "gops": ("gops", "mallocs and frees, Gop/s", "mallocs and frees, Mop/s"),
    "cycles": ("cycles_per_op", "cycles an operation, one block alone", None),
    "failed": ("failures_percent", "percent of the operations refused", None)}
FILLING = ("ramp", "aging")  # workloads whose subject is utilisation
MOST_PANELS = 100            # a panel takes about 50 ms
MARKS = {  # at what is wrong: the point, its line, the legend
    "refused": ("o", 1, "requests were refused, the larger the more"), "failed": ("x", 2, "failed")}

SOLID, DASHED, DOTTED = "-", (0, (5, 2)), (0, (1, 2))
DASH_DOT, LONG = (0, (6, 2, 1, 2)), (0, (9, 3))
# Relatives share a colour, and differ in dashes and points.
LOOKS = {
    "arena": (BLACK, SOLID, "^"), "bitmap": (BLUE, SOLID, "o"),
    "cluster_bitmap": (BLUE, DASHED, "s"), "freelist": (GREEN, SOLID, "D"),
    "native": (BLACK, DASHED, "s"), "null": (GREY, DOTTED, ""), "rbtree": (PURPLE, SOLID, "p"),
    "thread_best_fit": (ORANGE, SOLID, "^"), "thread_bitmap": (SKY, SOLID, "v"),
    "thread_first_fit": (ORANGE, DASHED, "v"), "warp_best_fit": (VERMILION, SOLID, "o"),
    "warp_first_fit": (VERMILION, DASHED, "s")}
OTHERS = (PURPLE, GREEN, SKY, ORANGE, VERMILION, BLUE, BLACK)  # of plugins, in their order
POINTS = "osv^Dp"
VARIANTS = (DASHED, DASH_DOT, LONG)  # of an allocator, by keys or binding


def looks_of(series):
    """(colour, dashes, point) of each (spec, binding): an allocator's is the same in all charts."""
    looks, of_name, unknown = {}, collections.defaultdict(list), 0
    for key in series:
        name = key[0].split(":")[0]
        variant = len(of_name[name])
        if variant:
            look = (of_name[name][0][0], VARIANTS[(variant - 1) % len(VARIANTS)],
                    POINTS[variant % len(POINTS)])
        elif name in LOOKS:
            look = LOOKS[name]
        else:
            look = (OTHERS[unknown % len(OTHERS)], DASH_DOT, POINTS[unknown % len(POINTS)])
            unknown += 1
        of_name[name].append(look)
        looks[key] = look
    return looks


class Chart:
    """Where rows are drawn: a panel for each workload, and for each value of other swept
    parameters.  The x axis is the parameter with the most values, else there are bars."""

    def __init__(self, rows, figure, every):
        self.figure = FIGURES[figure]
        for row in rows:
            row.update({**every, **row})  # members that all rows have
            row["bytes"] = row["payload_bytes"] or row["total_bytes"]
            row["broken"] = row["state"] == "failed" or row["errors"] != 0
            row["value"] = row["utilisation_percent" if row["workload"] in FILLING
                               else self.figure[0]]
            row["series"] = row["spec"], row["binding"]
        self.series = list(dict.fromkeys(r["series"] for r in rows))
        self.looks = looks_of(self.series)
        # other workloads than objects have no median
        self.values = {d: sorted({r[d] for r in rows if r[d] or d != "median_bytes"})
                       for d in DIMENSIONS}
        usable = [d for d in DIMENSIONS if d != "median_bytes" or all(r[d] for r in rows)]
        self.x = max(usable, key=lambda d: len(self.values[d]))
        self.x = self.x if len(self.values[self.x]) > 1 else None
        panels = collections.defaultdict(lambda: collections.defaultdict(list))
        for row in rows:
            others = tuple(row[d] for d in DIMENSIONS if d != self.x)
            panels[row["workload"]][row["scope"], row["touched"], others].append(row)
        # as the results have them, those of a workload side by side
        self.panels = [panel for of_workload in panels.values() for panel in of_workload.values()]

    def name(self, key):
        several = len({binding for _, binding in self.series}) > 1
        return ", ".join(key) if several else key[0]

    def title(self, row):
        """The values that tell a panel from others: "mixed, 46K bytes"."""
        words = [row["workload"]]
        if row["scope"]:
            words += [row["scope"]] + ["untouched"] * (not row["touched"])
        for d, (_, unit) in DIMENSIONS.items():
            if d != self.x and len(self.values[d]) > 1 and row[d]:
                words.append(f"{short(row[d], d)} {unit}")
        return ", ".join(words)

    def absent(self, panel):
        """{why: series without a point}; a run that was interrupted lacks rows."""
        count = len(self.values[self.x]) if self.x else 1
        why = collections.defaultdict(list)
        for key in self.series:
            rows = [r for r in panel if r["series"] == key]
            if all(r["value"] is None and not r["broken"] for r in rows):
                impossible = sum(r["state"] == "n/a" for r in rows) >= count
                why["n/a" if impossible else "not measured"].append(key)
        return why

    def scale(self, panel):
        """(factor of the figures, label, least and most of the axis, whether it is logarithmic)"""
        values = [r["value"] for r in panel if r["value"] is not None]
        most, least = max(values, default=0), min(values, default=0)
        if panel[0]["workload"] in FILLING:
            return 1, "percent of the pool used", 0, 105, False
        is_small = 0 < most < 0.1 and self.figure[2]
        factor, label = (1000, self.figure[2]) if is_small else (1, self.figure[1])
        if most > 20 * least > 0:
            return factor, label, factor * least / 1.5, factor * most * 1.5, True
        return factor, label, 0, factor * most * 1.1 or 1, False


def short(value, dimension):
    """46K for 47104 bytes."""
    kib = "bytes" in dimension and value and value % 1024 == 0
    return f"{value // 1024}K" if kib else f"{value}"


def x_places(values):
    """The place of each value of a sweep; even ones where labels would touch."""
    places = numpy.array(values, dtype=float)
    if places[0] > 0 and places[-1] >= 8 * places[0]:
        places = numpy.log2(places)
    if numpy.diff(places).min() < 0.08 * (places[-1] - places[0]):
        places = numpy.arange(len(values))
    return dict(zip(values, places))


def draw_points(axes, chart, key, points, drawn):
    """A series of (place, value, row): its bars or its line, and what is wrong."""
    colour, dashes, point = chart.looks[key]
    options = {"color": colour, "gid": f"series-{chart.series.index(key)}"}
    good = [p[:2] for p in points if not p[2]["broken"]]
    if good and chart.x is None:
        axes.barh(*zip(*good), height=0.7, **options)
    elif good:
        axes.plot(*zip(*good), linestyle=dashes, marker=point, markersize=5, markeredgewidth=0,
                  linewidth=1.5, clip_on=False, **options)
    for *place, row in points:
        refused = row["failures_percent"] or 0
        kind = "failed" if row["broken"] else "refused" if refused > 0 else None
        if kind:
            x, y = place if chart.x else place[::-1]
            drawn.add(kind)
            axes.plot([x], [y], MARKS[kind][0], markersize=8 + refused / 5, color=BAD, mfc="none",
                      mew=MARKS[kind][1], clip_on=False, gid=f"{kind}-{len(axes.lines)}")


def draw_panel(axes, chart, panel, drawn):
    factor, label, low, high, is_log = chart.scale(panel)
    foot = low * 1.2 if is_log else 0.04 * high  # a failed row has no figure
    bars = chart.x is None
    places = None if bars else x_places(chart.values[chart.x])
    for index, key in enumerate(chart.series):
        rows = [r for r in panel if r["series"] == key and (r["broken"] or r["value"] is not None)]
        points = [(index if bars else places[r[chart.x]],
                   foot if r["broken"] else factor * r["value"], r) for r in rows]
        draw_points(axes, chart, key, sorted(points, key=lambda p: p[0]), drawn)
    axis = axes.xaxis if bars else axes.yaxis
    (axes.set_xscale if bars else axes.set_yscale)("log" if is_log else "linear")
    (axes.set_xlim if bars else axes.set_ylim)(low, high)
    if is_log and high < 200 * low:
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    axis.grid(True)
    axis.set_label_text(label)
    if bars:
        for why, keys in chart.absent(panel).items():
            for key in keys:
                axes.text(low, chart.series.index(key), f" {why}", va="center", fontsize=8)
        axes.set_ylim(len(chart.series) - 0.4, -0.6)
        axes.set_yticks(range(len(chart.series)), [plain(chart.name(k)) for k in chart.series])
        axes.tick_params("y", length=0)
    else:
        axes.set_xticks(list(places.values()), [short(v, chart.x) for v in places])
        axes.set_xlabel(DIMENSIONS[chart.x][0])


def draw_results(data, figure):
    results = data["results"]
    chart = Chart(results["rows"], figure, results.get("every", {}))
    if len(chart.panels) > MOST_PANELS:
        sys.exit(f"shpool-bench: {len(chart.panels)} panels are needed; a chart has at most "
                 f"{MOST_PANELS}")
    bars = chart.x is None
    height = max(150, 18 * len(chart.series)) if bars else 190
    step = height + 117
    columns = min(len(chart.panels), 2)
    rows = -(-len(chart.panels) // columns)
    caption = ("{device}; driver {driver}; clocks: {clocks}; shpool-bench {version}, {date}; "
               "median of {repeats}, {iterations} iterations, seed {seed}").format_map(results)
    caption += "; INTERRUPTED" * (len(results["rows"]) < results["planned"])
    caption = textwrap.wrap(caption, LETTERS) + textwrap.wrap(results["command"], LETTERS)
    keys = [] if bars or len(chart.series) == 1 else chart.series
    foot = 22 * -(-(len(keys) + 2) // 4) + 15 * len(caption) + 30  # four names side by side
    page = Page(44 + rows * step + foot)
    one = "" if keys or bars else f"{chart.name(chart.series[0])}: "
    page.text(20, 16, f"{one}malloc and free in a block's shared memory", fontsize=11, color=BLACK)
    drawn = set()
    for i, panel in enumerate(chart.panels):
        left, top = 400 * (i % columns), 44 + step * (i // columns)
        inset = 150 if bars else 62
        page.text(left + 20, top, chart.title(panel[0]), fontsize=10, color=BLACK)
        about = textwrap.wrap(data["workloads"].get(panel[0]["workload"], ""), 66)
        absent = "" if bars else "; ".join(f"{why}: {', '.join(map(chart.name, keys))}"
                                           for why, keys in chart.absent(panel).items())
        page.text(left + 20, top + 18, "\n".join((about + textwrap.wrap(absent, 66))[:3]))
        width = (400 if columns > 1 else 640) - inset - 20
        draw_panel(page.axes(left + inset, top + 66, width, height), chart, panel, drawn)
    handles = [Line2D([], [], color=chart.looks[k][0], linestyle=chart.looks[k][1], linewidth=1.5,
                      marker=chart.looks[k][2], markersize=4.5, label=plain(chart.name(k)))
               for k in keys]
    handles += [Line2D([], [], color=BAD, marker=shape, mew=edge, mfc="none", ls="", label=text)
                for kind, (shape, edge, text) in MARKS.items() if kind in drawn]
    page.legend(handles, 20, 50 + rows * step, 4)
    page.text(20, page.height - 15 * len(caption) - 8, "\n".join(caption), linespacing=1.3)
    return page


# ---- maps ----

# An operation.  who: a thread or a group by its name; first, count: its threads; object: the index
# of the malloc; end: of a malloc the index of its free, None: it failed.
Op = collections.namedtuple("Op", "kind who first count object bytes usable end is_global place")
NARROW = 20000      # operations from which on allocations narrower than a pixel are merged
MOST_TITLES = 2000  # rectangles with a title
MOST_REASONS = 5
MAP_WIDTH, MAP_HEIGHT, GRANULE = 704, 480, 16


def extent(op):
    return max(op.usable, op.bytes, 1)


def is_placed(op):
    return op.kind == "m" and not op.is_global and op.end is not None


def group_colour(rank):
    """Neighbours in rank differ; after seven of them come lighter ones."""
    colours = (BLUE, ORANGE, GREEN, VERMILION, SKY, PURPLE, GREY)
    return to_rgba(colours[rank % len(colours)], (1, 0.6, 0.35)[rank // len(colours) % 3])


def size_colour(log2):
    """Dark is small and light is large: from less than 16 bytes to 16 KiB and more."""
    return colormaps["viridis"](min(max((log2 - 3) / 11, 0.0), 1.0))


def size_name(log2):
    if log2 >= 10:
        return f"{1 << log2 - 10} to {2 << log2 - 10} KiB"
    return f"{1 << log2} to {(2 << log2) - 1} bytes" if log2 else "0 to 1 bytes"


def holes_between(live, begin, end):
    """(bytes, place, allocation below, and above; None: the pool's edge) of each hole between
    sorted (begin, end, index) of allocations."""
    reached, below = begin, None
    for low, high, index in live + [(end, end, None)]:
        if low > reached:
            yield low - reached, reached, below, index
        if high > reached:
            reached, below = high, index


def taken_later(ops, at, threads, live, begin, end):
    """Allocations that other threads may already have got, although they are recorded later:
    mallocs that may have been under way, because they are the first operation after `at` of all
    their threads, in granules that no other allocation has used since."""
    used, seen = set(), set(range(ops[at].first, ops[at].first + ops[at].count))

    def use(low, high):
        granules = range(low // GRANULE, -(-high // GRANULE))
        was_free = begin <= low < high <= end and used.isdisjoint(granules)
        used.update(granules)
        return was_free

    for low, high, _ in live:
        use(low, high)
    for index, op in enumerate(ops[at + 1:], at + 1):
        if len(seen) >= threads:
            return
        who = range(op.first, op.first + op.count)
        fresh = seen.isdisjoint(who)
        seen.update(who)
        if is_placed(op) and use(op.place, op.place + extent(op)) and fresh:
            yield op.place, op.place + extent(op), index


def explain(data, ops, at):
    """Why a malloc failed, from the holes of its pool when it began: (pool, free bytes, the largest
    hole, mallocs that had already taken parts of it, the largest hole without these parts)."""
    pool = ops[at].first // data["threads_per_pool"]
    begin, end = pool * data["pool_bytes"] + data["head"], (pool + 1) * data["pool_bytes"]
    live = {i: [op.place, op.place + max(op.usable, op.bytes)] for i, op in enumerate(ops[:at])
            if is_placed(op) and op.end > at and begin <= op.place < end}
    for op in ops[:at]:
        if op.kind == "r" and op.object in live:
            live[op.object][1] = live[op.object][0] + max(op.usable, op.bytes)
    live = sorted((low, high, i) for i, (low, high) in live.items())
    holes = list(holes_between(live, begin, end))
    hole = max(holes, key=lambda h: h[0], default=(0, begin, None, None))
    takers, left = [], hole[0]
    if hole[0] >= ops[at].bytes:  # large enough, as far as it is recorded
        taken = sorted(taken_later(ops, at, data["block_threads"], live, begin, end))
        takers = [t[2] for t in taken if hole[1] <= t[0] < hole[1] + hole[0]]
        left = max((h[0] for h in holes_between(sorted(live + taken), begin, end)), default=0)
    return pool, sum(h[0] for h in holes), hole, takers, left


def reason(data, ops, at):
    """A sentence on a failed request, without its number."""
    op = ops[at]
    pool, free, (size, place, below, above), takers, left = explain(data, ops, at)

    def allocation(index):
        o = ops[index]
        return (f"{o.who}'s {o.bytes} bytes at 0x{o.place:x}" if o.count == 1 else
                f"{o.bytes} bytes of {o.who} at 0x{o.place:x}")

    text = f"{op.who} requested {op.bytes} bytes; pool {pool} has {free} free"
    if size:
        text += f", the largest hole {size} at 0x{place:x}"
    if takers:
        text += f"; already taken in it: {allocation(takers[0])}"
        text += f" and {len(takers) - 1} more" * (len(takers) > 1)
    elif size:
        start = "the pool's metadata" if data["head"] else "the start of the pool"
        text += (f", between {start if below is None else allocation(below)} and "
                 f"{'the end of the pool' if above is None else allocation(above)}")
    return text + " *" * (left >= op.bytes)


def ranges(numbers):
    """1-3, 5"""
    runs = []
    for n in numbers:
        if runs and runs[-1][1] == n - 1:
            runs[-1][1] = n
        else:
            runs.append([n, n])
    return ", ".join(f"{a}-{b}" if b > a else f"{a}" for a, b in runs)


class Map:
    """The rectangles of a map: (first operation, last, lowest byte, highest, group, malloc)."""

    def __init__(self, data):
        self.data, self.ops = data, [Op(*row) for row in data["ops"]]
        self.begin, self.end = data["from"], min(data["to"], len(self.ops))
        self.span, self.bytes = self.end - self.begin, data["pools"] * data["pool_bytes"]
        self.pieces, now = [], {}
        for at, op in enumerate(self.ops):
            if op.kind == "m" and is_placed(op) and op.place < self.bytes:
                now[at] = (at, extent(op))
            elif op.kind == "r" and op.object in now:  # side by side
                self.add(op.object, *now[op.object], at)
                now[op.object] = (at, extent(op))
        for malloc, (since, size) in now.items():
            self.add(malloc, since, size, self.ops[malloc].end)
        self.held = collections.Counter()
        for first, last, low, high, group, _ in self.pieces:
            self.held[group] += (last - first) * (high - low)
        self.low = min((p[2] for p in self.pieces), default=0)
        self.high = min(max((p[3] for p in self.pieces), default=self.bytes), self.bytes) or 1
        self.failures = [at for at in range(self.begin, self.end)
                         if self.ops[at].kind == "m" and self.ops[at].end is None]

    def add(self, malloc, since, size, until):
        op = self.ops[malloc]
        first, last = max(since, self.begin), min(until, self.end)
        group = op.who if self.data["color"] == "thread" else max(op.bytes, 1).bit_length() - 1
        if last > first:
            self.pieces.append((first, last, op.place, op.place + size, group, malloc))

    def title(self, malloc):
        op = self.ops[malloc]
        return (f"{op.who}: {op.bytes} bytes ({op.usable} usable) at 0x{op.place:x}, operations "
                f"{malloc} to {op.end}" + " (never freed)" * (op.end == len(self.ops)))

    def reasons(self):
        """{sentence: numbers of the failures, from 1}, at most MOST_REASONS of the first ones."""
        found = {}
        for number, at in enumerate(self.failures[:12], 1):
            found.setdefault(reason(self.data, self.ops, at), []).append(number)
        return dict(list(found.items())[:MOST_REASONS])


def draw_pieces(axes, m, colours):
    """Draw the rectangles; returns titles by their ids, and how many were narrower than a pixel of
    a crowded map: a grid shows where these were."""
    pixel = m.span / MAP_WIDTH if m.span > NARROW else 0
    wide = [p for p in m.pieces if p[1] - p[0] > pixel]
    cells, tall = numpy.full((MAP_HEIGHT, MAP_WIDTH), numpy.nan), (m.high - m.low) / MAP_HEIGHT
    for first, last, low, high, _, _ in m.pieces:
        if last - first <= pixel:
            cells[int((low - m.low) / tall):int((high - 1 - m.low) / tall) + 1,
                  min(int((first - m.begin) / pixel), MAP_WIDTH - 1)] = 0.6
    if len(wide) < len(m.pieces):
        axes.imshow(cells, cmap="gray", vmin=0, vmax=1, aspect="auto", origin="lower", zorder=1,
                    interpolation="none", extent=(m.begin, m.end, m.low, m.high), gid="merged")
    edge = {"edgecolor": "#333333", "linewidth": 0.15}
    if len(wide) > MOST_TITLES:
        corners = [[(a, c), (b, c), (b, d), (a, d)] for a, b, c, d, _, _ in wide]
        axes.add_collection(PolyCollection(corners, facecolors=[colours[p[4]] for p in wide],
                                           gid="pieces", **edge))
        return {}, len(m.pieces) - len(wide)
    for i, (first, last, low, high, group, _) in enumerate(wide):
        axes.add_patch(Rectangle((first, low), last - first, high - low, gid=f"op-{i}",
                                 facecolor=colours[group], **edge))
    return {f"op-{i}": m.title(p[5]) for i, p in enumerate(wide)}, len(m.pieces) - len(wide)


def draw_failures(axes, m):
    """A line for each, with its number; numbers that would touch are joined."""
    labels, pixel, drawn = [], m.span / MAP_WIDTH, -1
    for number, at in enumerate(m.failures, 1):
        if drawn < 0 or at - drawn >= pixel:
            drawn = at
            axes.axvline(at, color=BAD, linewidth=0.8, ls=(0, (4, 2)), gid=f"failure-{number}")
        if labels and at - labels[-1][0][0] < (16 + 14 * (number > 9)) * pixel:
            labels[-1].append((at, number))
        else:
            labels.append([(at, number)])
    for of_label in labels:
        middle = (of_label[0][0] + of_label[-1][0]) / 2
        axes.annotate(ranges([number for _, number in of_label]), (middle, 1), xytext=(0, 3),
                      xycoords=("data", "axes fraction"), textcoords="offset points", ha="center",
                      color=BAD, fontsize=8)


def draw_map(data):
    m = Map(data)
    reasons, words = m.reasons(), []
    for text, numbers in reasons.items():
        operations = ", ".join(str(m.failures[n - 1]) for n in numbers)
        text = f"{ranges(numbers)} (operation{'s' * (len(numbers) > 1)} {operations}): {text}"
        words += textwrap.wrap(text, LETTERS - 14, subsequent_indent="    ")
    left = len(m.failures) - sum(map(len, reasons.values()))
    more = (f"{left} more failures are not described.  " * bool(left) +
            "Already taken: by a malloc under way that is recorded later.  " *
            any("already taken" in text for text in reasons) +
            "* large enough: there is metadata in it, or it was freed while the request was under "
            "way." * any(text.endswith(" *") for text in reasons))
    words += textwrap.wrap(more, LETTERS - 14)
    page = Page(MAP_HEIGHT + 160 + 15 * len(words))
    used = f"used: 0x{m.low:x} to 0x{m.high:x}" if m.pieces else "nothing was used"
    page.text(84, 8, data["allocator"], fontsize=11, color=BLACK)
    page.text(84, 28, "block {block}, launch {launch}, {block_threads} threads, {pools} pool{s} of "
              "{pool_bytes} bytes; ".format(s="s" * (data["pools"] > 1), **data) + used,
              fontsize=9)
    axes = page.axes(84, 72, MAP_WIDTH, MAP_HEIGHT)
    axes.set(xlim=(m.begin, m.end), ylim=(m.low, m.high), facecolor="#f6f6f6")
    ranked = [group for group, _ in sorted(m.held.items(), key=lambda h: (-h[1], str(h[0])))]
    by_size = data["color"] == "size"
    colours = {g: size_colour(g) if by_size else group_colour(i) for i, g in enumerate(ranked)}
    page.titles, merged = draw_pieces(axes, m, colours)
    if merged:
        page.text(84, 46, f"grey: {merged} allocations that lived for less than a pixel; "
                  "--from and --to draw a part")
    if data["dropped"]:
        page.text(788, 46, f"{data['dropped']} records were dropped: the end is missing",
                  color=BAD, ha="right")
    draw_failures(axes, m)
    edges = [p * data["pool_bytes"] for p in range(1, data["pools"])
             if m.low < p * data["pool_bytes"] < m.high] if data["pools"] <= 64 else []
    for byte in edges:
        axes.axhline(byte, color=BLACK, linewidth=0.5, gid=f"pool-{byte}")
    room = (m.high - m.low) / 30
    ticks = [m.low, m.high] + [b for b in edges if data["pools"] <= 16 and
                               m.low + room < b < m.high - room]
    axes.set_yticks(ticks, [f"0x{byte:x}" for byte in ticks])
    axes.set_ylabel("bytes from the start of the first pool")
    colour = "size, light is large" if by_size else "thread"
    axes.set_xlabel(f"operations in order; colour: {colour}; {len(m.failures)} failed")
    total = sum(m.held.values())
    handles = [Rectangle((0, 0), 1, 1, facecolor=colours[g], gid=f"key-{i}", label=plain(
        f"{size_name(g) if by_size else g}: {100 * m.held[g] / total:.0f}%"))
               for i, g in enumerate(ranked[:8])]
    page.text(84, 112 + MAP_HEIGHT, "held most:" * bool(handles), fontsize=9)
    page.legend(handles, 150, 112 + MAP_HEIGHT, 4)
    page.text(84, MAP_HEIGHT + 152, "\n".join(words), linespacing=1.3)
    return page


def main(kind, form="svg", figure="gops"):
    if kind != "check":
        data = json.load(open(3))
        page = draw_map(data) if kind == "map" else draw_results(data, figure)
        sys.stdout.buffer.write(page.picture(form))


if __name__ == "__main__":
    main(*sys.argv[1:])
