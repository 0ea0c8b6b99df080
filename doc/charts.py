# SPDX-License-Identifier: BSD-3-Clause
"""Draws the pictures of the documentation anew from doc/results, by tools/bench/draw.py:

    python3 doc/charts.py SHPOOL_BENCH [FOLDER]

SHPOOL_BENCH is the program, which draws the map; FOLDER is where the pictures go, else doc.
"""
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE.parent / "tools/bench"))
import draw
from draw import BLACK, BLUE, GREEN, GREY, ORANGE, TEXT, VERMILION


def tables(name):
    """The tables of a file, which two empty lines part; lines of words and numbers."""
    text = "\n".join(line for line in (HERE / "results" / name).read_text().split("\n")
                     if not line.startswith("#"))
    return [[line.split() for line in table.split("\n") if line]
            for table in text.split("\n\n\n") if table]


def coalesce():
    rewritten, others = tables("coalesce.dat")
    rows = [(i + (i >= len(rewritten)), name, int(plain), int(after))
            for i, (name, plain, after) in enumerate(rewritten + others)]
    page = draw.Page(440)
    page.text(20, 12, "Kernels on records, as nvcc compiles them and rewritten (H200, 1 GiB an "
              "array)", fontsize=11, color=BLACK)
    axes = page.axes(62, 44, 720, 280)
    axes.bar([r[0] - 0.2 for r in rows], [r[2] for r in rows], 0.4, color=GREY, label="plain")
    axes.bar([r[0] + 0.2 for r in rows], [r[3] for r in rows], 0.4, color=GREEN, label="rewritten")
    for x, _, plain, after in rows[:len(rewritten)]:
        times = after / plain
        axes.text(x, 4480, f"{times:.{times < 10:d}f}", ha="center", fontsize=8)
    axes.axhline(4246, color=TEXT, linewidth=0.8, linestyle=draw.DASHED)
    axes.text(18, 4960, "device-to-device copy, 4,246 GB/s", ha="right", fontsize=8, color=TEXT)
    axes.text(5.5, 4960, "rewritten: times as fast", ha="center")
    axes.text(15, 4480, "left as they are", ha="center")
    axes.set(xlim=(-0.7, 18), ylim=(0, 5300), ylabel="useful bytes, GB/s")
    axes.set_xticks([r[0] for r in rows], [r[1] for r in rows], rotation=40, ha="right",
                    rotation_mode="anchor")
    axes.tick_params("x", length=0)
    axes.grid(True, axis="y")
    page.legend(axes.get_legend_handles_labels()[0], 320, 415, 2)
    return page


def loadstore():
    names = (("CUB, its best mode", BLACK, "o", draw.DASHED),
             ("global_to_shared and back", BLUE, "s", "-"),
             ("global_to_thread and back", VERMILION, "^", "-"),
             ("global_to_global", ORANGE, "D", "-"))
    page = draw.Page(730)
    page.text(20, 12, "Copies of 1 GiB on an H200, 256 threads a block, in percent of a "
              "device-to-device copy;\nless than 80 % is not shown", fontsize=11, color=BLACK)
    for i, table in enumerate(tables("loadstore.dat")):
        rows = [[float(v) for v in row] for row in table]
        axes = page.axes(400 * (i % 2) + 62, 84 + 215 * (i // 2), 318, 150)
        for k, (name, colour, point, dashes) in enumerate(names):
            axes.plot([r[1] for r in rows], [100 * r[3 + k] / r[2] for r in rows], color=colour,
                      marker=point, linestyle=dashes, linewidth=1, markersize=4.5,
                      markeredgewidth=0, label=name)
        axes.set_title(f"{rows[0][0]:.0f} byte{'s' * (i > 0)} an element", loc="left")
        axes.set(xlim=(0.5, 17.5), ylim=(80, 104), xlabel="values a thread (VT)",
                 ylabel="percent of a copy", xticks=range(1, 18, 2))
        axes.axhline(100, color=TEXT, linewidth=0.8, linestyle=draw.DOTTED)
        axes.grid(True, axis="y")
    page.legend(axes.get_legend_handles_labels()[0], 470, 560, 1)
    return page


def pytorch():
    rows = json.loads((HERE / "results/h200.json").read_text())["tables"]["pytorch"]["rows"]
    names = {"fixed": "transformer,\none length", "varied": "transformer,\nlengths change",
             "images": "convolutions,\nsizes change", "caches": "key-value\ncaches grow",
             "experts": "experts,\ntokens change", "detection": "detection,\nsizes change",
             "tuning": "fine-tuning,\nlengths change"}
    page = draw.Page(340)
    page.text(20, 12, "GPU memory that PyTorch programs reserve, for each byte in use at the peak "
              "(H200)", fontsize=11, color=BLACK)
    axes = page.axes(62, 44, 720, 200)
    for k, (name, colour) in enumerate((("PyTorch", GREY), ("expandable segments", ORANGE),
                                        ("libshpool, bins", GREEN))):
        values = [rows[row][k] for row in names]
        axes.bar([x + 0.27 * (k - 1) for x in range(len(names))], values, 0.27, color=colour,
                 label=name)
        for x, value in enumerate(values):
            axes.text(x + 0.27 * (k - 1), value + 0.06, f"{value:.2f}", ha="center", fontsize=8)
    axes.axhline(1, color=TEXT, linewidth=0.8, linestyle=draw.DASHED)
    axes.set(xlim=(-0.55, len(names) - 0.45), ylim=(0, 4.7), ylabel="reserved / in use")
    axes.set_xticks(range(len(names)), names.values())
    axes.tick_params("x", length=0)
    page.legend(axes.get_legend_handles_labels()[0], 200, 312, 3)
    return page


def results(name):
    return draw.draw_results(json.loads((HERE / "results" / f"{name}.json").read_text()), "gops")


def main(bench, folder=HERE):
    pages = {"coalesce": coalesce(), "loadstore": loadstore(), "pytorch": pytorch(),
             "bench": results("bench"), "crowd": results("crowd")}
    for name, page in pages.items():
        (pathlib.Path(folder) / f"{name}.svg").write_bytes(page.picture("svg"))
    subprocess.run([bench, "map", HERE / "results/step.trace", "--color", "size", "--svg",
                    pathlib.Path(folder) / "map.svg"], check=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
