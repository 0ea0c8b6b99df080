# SPDX-License-Identifier: BSD-3-Clause
"""Measured figures: doc/results/DEVICE.json, and the pages that show them.

    python3 packaging/figures.py measure [--build DIR] [--minutes 9] [--again] [--commit HASH]
                                         [TABLE ...]
    python3 packaging/figures.py commands [TABLE ...]
    python3 packaging/figures.py write | check

measure runs the commands of doc/performance.md on a GPU, in the folder of --build, a build with
CUDA [.], and stores what they print in doc/results.  It stops after --minutes; the next call
measures the tables that are missing.  Another commit or driver begins anew, and so does --again;
--commit names the commit where there is no .git.  Where something is missing that a table needs
(PyTorch, a shpool that is installed into build/prefix or known to pkg-config), it names the table.
commands prints them.  write puts the results into the tables of doc/performance.md, and new figures
in the place of those in PAGES that were results of the last commit.  check says where a table
differs, and which figures of PAGES are not results: these need a new sentence.
Exit: 0; 1: it failed or found something.

In the page a comment before each table has its commands, and says what to show:

    <!-- NAME
        COMMANDS
    head A | B; row {field} | {field}; column {field}; cell FIELD ... -->

The commands' output gives records with fields: the lines of CSV, each below its header, or, with
`line`, the named groups of regular expressions: of `line`, of each match of `each` in the rest of
the line, and of the latest line that `state` matched.  row and column are the place of a record's
cell, which shows the first of the fields that has a value; with `cell a | b` there are two columns,
a and b.  A record counts if `only` is found in "field=value, field=value, ".  Of several records
with the same place, `take` is max, range or last [last].  Figures below 100 have `digits` [3].  The
page has the rows in which `show` is found; doc/results has all.  Without a head there is no table:
the commands write a file into $RESULTS, doc/results, from which a picture is drawn.
"""
import argparse
import csv
import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGE = "doc/performance.md"
PAGES = ["README.md", "doc/CHOOSING.md", "doc/DEVICE-MEMORY.md", "doc/EXAMPLES.md",
         "doc/PERSISTENT.md", PAGE]
TABLE = re.compile(r"(?P<comment><!-- (?P<name>\w+)\n(?P<commands>(?:    .*\n)+)"
                   r"(?P<text>(?:.|\n)*?) ?-->\n)(?:\n(?:\|.*\n)*)?\n*")
ORIGIN = re.compile(r"(<!-- results (\S+) -->\n)(?:.+\n)*")
NUMBER = r"\d+(?:,\d{3})*(?:\.\d+)?"
UNITS = r"(?:ms|ns|cycles|GB/s|Gop/s|million pairs|inline|linked|by table)\b"
MEASURED = re.compile(rf"({NUMBER}(?:(?: to |, | and | or ){NUMBER})*) {UNITS}")
# numbers of two digits and more in a row that names its section, except for sizes
WHERE = re.compile(r"(?<![\d.])(?:\d+\.\d+|\d{2,})(?![\d.]*\d| (?:[KM]iB|bytes|threads|words)\b)")
# what a shell of the commands defines: shpool-bench answers in CSV
SHELL = """shpool-bench() {
    case $1 in memory) command shpool-bench "$@" ;; *) command shpool-bench "$@" --csv ;; esac
}
"""


def read(path):
    with open(os.path.join(TOP, path), encoding="utf-8") as file:
        return file.read()


class Table:
    def __init__(self, match):
        parts = re.sub(r"\s+", " ", match["text"]).strip().split("; ")
        self.name = match["name"]
        self.commands = re.sub("^    ", "", match["commands"], flags=re.M)
        self.fields = dict(part.split(" ", 1) for part in parts if part)

    def get(self, key, default=""):
        return self.fields.get(key, default)


def tables(names):
    found = [Table(match) for match in TABLE.finditer(read(PAGE))]
    unknown = set(names) - {table.name for table in found}
    if unknown:
        sys.exit(f"{PAGE} has no table {', '.join(sorted(unknown))}; it has "
                 f"{', '.join(table.name for table in found)}")
    return [table for table in found if table.name in (names or [t.name for t in found])]


# ---- measure ----

def rounded(value, digits=3):
    short = round(value) if value >= 100 else float(f"{value:.{digits}g}")
    return int(short) if short == int(short) else short


def of_text(text, table):
    state = {}
    for line in text.splitlines():
        if table.get("state") and re.search(table.get("state"), line):
            state = re.search(table.get("state"), line).groupdict()
        found = re.search(table.get("line"), line)
        if found and table.get("each"):
            for match in re.finditer(table.get("each"), line[found.end():]):
                yield {**state, **found.groupdict(), **match.groupdict()}
        elif found:
            yield {**state, **found.groupdict()}


def number(text):
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def of_csv(text):
    header, begins = [], True
    for line in text.splitlines():
        if line.startswith("#"):
            begins = True
        elif begins:
            header, begins = next(csv.reader([line])), False
        else:
            yield dict(zip(header, map(number, next(csv.reader([line])))))


def with_more(record):
    """Fields that follow from others."""
    if "payload_bytes" in record:
        record["option"] = record["spec"].partition(":")[2] or "plain"
        record["kib"] = record["payload_bytes"] / 1024
        record["pairs"] = record["gops"] and 500 * record["gops"]  # millions, of malloc and free
    if "vt" in record:
        record["values"] = record["vt"]
    return record


def place(found, table, record):
    """Put a record's cells into the table that was found so far."""
    if record.get("state") == "failed" or record.get("errors") not in (None, "", 0):
        print(f"{table.name}: left out: {record.get('spec')}, {record.get('note')}",
              file=sys.stderr)
    if record.get("state", "measured") != "measured" or record.get("errors") not in (None, "", 0):
        return
    if not re.search(table.get("only"), "".join(f"{k}={v}, " for k, v in record.items())):
        return
    choices = [choice.split() for choice in table.get("cell").split(" | ")]
    for fields in choices:
        values = [float(record[key]) for key in fields if record.get(key) not in (None, "")]
        if not values:
            continue
        value = rounded(values[0], int(table.get("digits", 3)))
        column = table.get("column").format(**record) or fields[0]
        cells = found["rows"].setdefault(table.get("row").format(**record), {})
        if column not in found["columns"]:
            found["columns"].append(column)
        if table.get("take") == "max":
            value = max(value, cells.get(column, 0))
        elif table.get("take") == "range" and column in cells:
            both = sorted(float(x) for x in [value, *numbers(str(cells[column]))])
            value = f"{rounded(both[0]):,} to {rounded(both[-1]):,}"
        elif fields[-1] == "gops" and float(record.get("failures_percent") or 0) > 0:
            value = f"{value:,} ({record['failures_percent']:.2g} %)"
        cells[column] = value


def run(commands, build, seconds, strict=True):
    """What a shell prints, in the build folder; of files that are not there it takes the source.
    strict: a command that fails is an error."""
    def path(match):
        here = os.path.join(build, match[0])
        return match[0] if os.path.exists(here) else os.path.join(TOP, match[0])

    commands = re.sub(r"(?<![\w./])(?:tests|examples)/[\w./-]+\.\w+", path, commands)
    env = dict(os.environ, PATH=build + ":" + os.environ["PATH"],
               RESULTS=os.path.join(TOP, "doc", "results"))
    for name, folder in {"PYTHONPATH": "python", "LD_LIBRARY_PATH": "build/prefix/lib",
                         "PKG_CONFIG_PATH": "build/prefix/lib/pkgconfig"}.items():
        env[name] = os.path.join(TOP, folder) + ":" + env.get(name, "")
    command = ["bash", "-ec" if strict else "-c", SHELL + commands]
    with subprocess.Popen(command, cwd=build, env=env, stdout=subprocess.PIPE, text=True,
                          start_new_session=True) as shell:
        try:
            text, _ = shell.communicate(timeout=seconds)
        except BaseException:
            os.killpg(shell.pid, signal.SIGKILL)  # its programs, too: they would use the GPU
            raise
    if strict and shell.returncode != 0:
        raise subprocess.CalledProcessError(shell.returncode, commands.strip())
    return text


def git(*command):
    """What git says, without an end of line; "" outside a checkout."""
    return subprocess.run(["git", "-C", TOP, *command], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, check=False).stdout.strip()


def origin(build, commit):
    """Of what, where and when.  Changed pages and results do not make another commit."""
    text = run("shpool-bench --device cuda --workload pairs -i 10", build, 60)
    facts = dict(re.findall("^# (\\w+): (.*)$", text, re.M))
    nvcc = run("nvcc --version", build, 60)
    changed = git("status", "--porcelain", "-uno", "--", ".", ":!doc")
    return {"device": facts["device"].partition(" (")[0], "version": facts["version"],
            "driver": facts["driver"].partition(",")[0],
            "toolkit": re.search(r"release ([\d.]+)", nvcc)[1], "date": facts["date"][:10],
            "commit": commit or (git("rev-parse", "--short", "HEAD") or "unknown") +
            (" with changes" if changed else "")}


def keep_for_picture(name, before):
    """The file of --json in the form that doc/charts.py draws, a row a line, without samples."""
    path = os.path.join(TOP, "doc", "results", name)
    with open(path, encoding="utf-8") as file:
        results = json.load(file)
    rows = [json.dumps({key: value for key, value in row.items() if not key.endswith("_samples")})
            for row in results.pop("rows")]
    head = json.dumps({"workloads": before.get("workloads", {}), "results": results}, indent=1)
    with open(path, "w", encoding="utf-8") as file:
        file.write(head.rstrip("} \n") + ',\n "rows": [\n' + ",\n".join(rows) + "\n]}}\n")


def measure(args):
    begin = time.monotonic()
    build = os.path.abspath(args.build)
    wanted = tables(args.table)
    try:
        now = origin(build, args.commit)
    except (OSError, subprocess.SubprocessError) as reason:
        sys.exit(f"it needs a GPU, nvcc, and a build with CUDA in {build}: {reason}")
    path = os.path.join(TOP, "doc", "results",
                        re.sub(r".*?([A-Z]+\d+\w*).*", r"\1", now["device"]).lower() + ".json")
    results = {"tables": {}}
    if os.path.exists(path):
        results = json.loads(read(path))
    same = all(results.get(key) == now[key] for key in ("commit", "driver", "toolkit"))
    if not same or args.again:
        results = {**now, "tables": {}}
    missing = []
    for table in wanted:
        if table.name in results["tables"]:
            continue
        left = 60 * args.minutes - (time.monotonic() - begin)
        if left <= 0:
            missing.append(table.name)
            continue
        found = {"columns": [], "rows": {}}
        pictures = {name: json.loads(read(f"doc/results/{name}"))
                    for name in re.findall(r"\$RESULTS/(\w+\.json)", table.commands)}
        try:
            # a row of CSV says itself whether it is right
            text = run(table.commands, build, left, strict="cell" not in table.fields or
                       "line" in table.fields)
            for record in of_text(text, table) if table.get("line") else of_csv(text):
                if table.fields:
                    place(found, table, with_more(record))
            for name, before in pictures.items():
                keep_for_picture(name, before)
            if table.fields and not found["rows"]:
                raise OSError("nothing was found in what it printed")
        except (OSError, subprocess.SubprocessError, ValueError, KeyError) as reason:
            missing.append(table.name)
            print(f"{table.name}: {reason}", file=sys.stderr)
            continue
        found["rows"] = {row: [cells.get(column) for column in found["columns"]]
                         for row, cells in found["rows"].items()}
        results["tables"][table.name] = found
        with open(path, "w", encoding="utf-8") as file:
            file.write(dumped(results))
        print(f"{table.name}: {time.monotonic() - begin:.0f} s")
    if not path.endswith(ORIGIN.search(read(PAGE))[2]):
        print(f"{PAGE} shows other results than {path}", file=sys.stderr)
    if missing:
        print(f"not measured: {', '.join(missing)}; call it again", file=sys.stderr)
    return bool(missing)


def dumped(results):
    """JSON, a line for each row of a table."""
    text = json.dumps(results, indent=1, ensure_ascii=False)
    return re.sub(r"\[[^][{}]*\]", lambda m: " ".join(m[0].split()).replace("[ ", "[").replace(
        " ]", "]"), text) + "\n"


# ---- write ----

def cell(value):
    return "-" if value is None else value if isinstance(value, str) else f"{value:,}"


def filled(table, results):
    if not table.fields:
        return ""
    found = results["tables"].get(table.name)
    head = f"\n| {table.name}: {table.get('head')} |"
    if found is None:
        return head + " not measured |\n" + "| --- " * head.count("| ") + "| --- |\n"
    head += f" {' | '.join(found['columns'])} |"
    return "\n".join([head, "| --- " * (head.count("| ")) + "|"] + [
        f"| {row} | {' | '.join(map(cell, values))} |" for row, values in found["rows"].items()
        if re.search(table.get("show"), row)]) + "\n"


def origin_text(results):
    """Where and when, and which tables are of another run."""
    others = {}
    for name, table in results["tables"].items():
        others.setdefault(table.get("measured"), []).append(name)
    text = ("{device}, driver {driver}, CUDA {toolkit}, {date}, version {version}, commit {commit}."
            .format(**results))
    marks = [f"{', '.join(names)} ({mark})" for mark, names in others.items() if mark]
    text += f" Tables of earlier runs: {'; '.join(marks)}." if marks else ""
    return textwrap.fill(text, 100, break_on_hyphens=False)


def written():
    text = read(PAGE)
    results = json.loads(read("doc/" + ORIGIN.search(text)[2]))
    text = TABLE.sub(lambda match: match["comment"] + filled(Table(match), results) + "\n",
                     text).rstrip("\n") + "\n"
    return ORIGIN.sub(lambda match: match[1] + origin_text(results) + "\n", text), results


def by_cell(results):
    """The numbers by table, row, column and place in the cell."""
    return {(name, row, column, i): float(number)
            for name, table in results["tables"].items() for row, values in table["rows"].items()
            for column, value in zip(table["columns"], values)
            for i, number in enumerate(numbers("" if value is None else f"{value}"))}


def renewed(page, results, by_title):
    """A page, with new figures for those that were results of the last commit."""
    last = git("show", "HEAD:doc/" + ORIGIN.search(read(PAGE))[2])
    old, new = by_cell(json.loads(last)) if last else {}, by_cell(results)
    text, change = read(page), {}
    for at, figure, title in figures_of(page, text, by_title):
        shown = {t.name for t in tables([]) if not title or f"| {t.name}: " in by_title[title]}
        now = {new[key] for key, value in old.items()
               if key in new and key[0] in shown and is_result(figure, [value])}
        if len(now) == 1 and not is_result(figure, now):
            change[at, figure] = f"{rounded(now.pop(), 4):,}"
    return "\n".join(re.sub(NUMBER, lambda m, at=at: change.get((at, m[0].replace(",", "")), m[0]),
                            line) for at, line in enumerate(text.split("\n"), 1))


# ---- check ----

def numbers(text):
    return [x.replace(",", "") for x in re.findall(NUMBER, text)]


def is_result(figure, known):
    """figure has as many decimals as its page shows."""
    digits = len(figure.partition(".")[2])
    return any(abs(round(value, digits) - float(figure)) < 1e-9 for value in known)


def without_comments(text):
    """Without comments, in the same lines."""
    return re.sub("<!--(?:.|\n)*?-->", lambda match: "\n" * match[0].count("\n"), text)


def sections(page):
    parts = re.split(r"^## (.*)\n", without_comments(page), flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


def figures_of(page, text, by_title):
    """Line, figure, and the section that must have it ("": any result)."""
    for at, line in enumerate(without_comments(text).splitlines(), 1):
        plain = re.sub(r"`[^`]*`", "", line)
        if page == PAGE and line.startswith(("|", "*")) or line.startswith("    "):
            continue
        cells = [x.strip() for x in plain.strip("|").split("|")] if line.startswith("|") else []
        if len(cells) >= 4 and cells[-1] in by_title:
            for figure in WHERE.findall(" ".join(cells[:-1]).replace(",", "")):
                yield at, figure, cells[-1]
            continue
        for group in MEASURED.findall(plain):
            yield from ((at, figure, "") for figure in numbers(group))
        for figure in cells:
            if re.fullmatch(NUMBER, figure) and page != PAGE:
                yield at, figure.replace(",", ""), ""


def check():
    page, results = written()
    failed = []
    if read(PAGE) != page:
        failed.append(f"{PAGE}: it is not what packaging/figures.py write makes")
    text = json.dumps([table["rows"] for table in results["tables"].values()], ensure_ascii=False)
    known = {float(x) for x in numbers(re.sub(r"(\d), ", r"\1 ; ", text))}
    by_title = sections(page)
    known_in = {title: {float(x) for x in numbers(part)} for title, part in by_title.items()}
    count = 0
    for name in PAGES:
        for at, figure, title in figures_of(name, read(name), by_title):
            count += 1
            if not is_result(figure, known_in[title] if title else known):
                failed.append(f"{name}:{at}: {figure} is not " +
                              (f'in "{title}" of {PAGE}' if title else "a result"))
    if count < 60:
        failed.append(f"only {count} figures were found")
    for line in failed:
        print("FAIL", line)
    if not failed:
        print(f"PASS {count} figures of the pages are results")
    return bool(failed)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("do", choices=("measure", "commands", "write", "check"))
    parser.add_argument("table", nargs="*")
    parser.add_argument("--build", default=".")
    parser.add_argument("--minutes", type=float, default=9)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--commit", default="")
    args = parser.parse_intermixed_args()
    if args.do == "measure":
        return measure(args)
    if args.do == "commands":
        print("\n".join(f"# {table.name}\n{table.commands}" for table in tables(args.table)))
        return 0
    if args.do == "write":
        text, results = written()
        for page in PAGES:
            new = text if page == PAGE else renewed(page, results, sections(text))
            with open(os.path.join(TOP, page), "w", encoding="utf-8") as file:
                file.write(new)
        return 0
    return check()


if __name__ == "__main__":
    sys.exit(main())
