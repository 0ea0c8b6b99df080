# SPDX-License-Identifier: BSD-3-Clause
"""Results of shpool-bench --json: read, and compared.

    results.py read RESULTS.json                                prints them for draw.py
    results.py compare NOISE FAIL_ON CHANGED A.json B.json

File 3 has the columns and the names that this version knows (results.c writes it).
shpool-bench has this file inside and passes it to Python.  Exit status: 0; 2: stderr says why a
file cannot be read; 10: B is so much worse that compare --fail-on fails.
"""
import sys

sys.path[:] = [folder for folder in sys.path if folder]  # not from the current folder

import collections
import errno
import json
import math
import os
import re
import select
import shlex
import stat

WORSE = 10
OBEYED = re.compile("[\0-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
                    "\ud800-\udfff\U000e0000-\U000e007f]")


def shown(text):
    """What a terminal would obey, and bytes that are not UTF-8, as \\x1b."""
    def escaped(match):
        errors = "surrogateescape" if "\udc80" <= match[0] <= "\udcff" else "surrogatepass"
        return "".join(f"\\x{byte:02x}" for byte in match[0].encode("utf-8", errors))
    return OBEYED.sub(escaped, text)


def refuse(text):
    print(f"shpool-bench: {shown(text)}", file=sys.stderr)
    sys.exit(2)


# ---- reading ----

def content(path):
    """All bytes of a file.  A FIFO that no program writes to is not waited for."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
        mode = os.fstat(file).st_mode
        if stat.S_ISDIR(mode):
            refuse(f"{path}: is a directory")
        first = b""
        if stat.S_ISFIFO(mode):
            hung_up = select.poll()
            hung_up.register(file)
            event = hung_up.poll(0)
            try:
                first = os.read(file, 1)
                if not first and not event:
                    refuse(f"{path}: is a FIFO that no program writes to")
            except BlockingIOError:
                pass
        os.set_blocking(file, True)
        with os.fdopen(file, "rb") as stream:
            data = first + stream.read()
    except OSError as error:
        refuse(f"{path}: {os.strerror(error.errno or errno.EIO)}")
    if not data:
        refuse(f"{path}: is empty")
    return data


def finite(text):
    if not math.isfinite(float(text)):
        raise ValueError(f"no number: {text}")
    return float(text)


def load(path):
    data = content(path)
    try:
        document = json.loads(data.decode(), parse_float=finite, parse_constant=finite)
        if isinstance(document, (dict, list)):
            return document
        raise ValueError("an object is missing")
    except RecursionError:
        why, line = "too many levels", 1
    except ValueError as error:
        why, line = getattr(error, "msg", str(error)), getattr(error, "lineno", 1)
    refuse(f"{path}: is not JSON of shpool-bench: {why} (line {line})")


def is_integer(value, least=-2**63, most=2**63 - 1):
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def is_number(value):
    return is_integer(value) or isinstance(value, float)


# For each kind of column: whether a value is of it, and what it is read as.
KINDS = {
    "text": (lambda v: isinstance(v, str), shown),
    "u32": (lambda v: is_integer(v, 0, 2**32 - 1), int),
    "u64": (is_integer, int),
    "int": (lambda v: v is None or is_integer(v), lambda v: None if v is None or v < 0 else v),
    "real": (lambda v: v is None or is_number(v), lambda v: None if v is None or v < 0 else v),
    "series": (lambda v: isinstance(v, list), lambda v: [s if is_number(s) else 0.0 for s in v])}
NONE = {"text": "", "u32": 0, "real": None}  # of columns that earlier versions lacked


def members(path, columns, given):
    """The members of a record, as its columns say."""
    record = {}
    for name, kind, is_new in columns:
        is_of_kind, value_of = KINDS[kind]
        if is_new and name not in given:
            record[name] = NONE[kind]
        elif name in given and is_of_kind(given[name]):
            record[name] = value_of(given[name])
        else:
            refuse(f'{path}: "{name}" is missing or has another type')
    return record


def read(path, known):
    """The results of a file, all members of which are there and of their type."""
    document = load(path)
    kind = document.get("kind") if isinstance(document, dict) else None
    if kind != known["kind"]:
        what = f'holds "{kind}"' if isinstance(kind, str) else 'has no member "kind"'
        refuse(f"{path}: {what}; a file that shpool-bench [block] --json=FILE wrote is needed")
    if document.get("format") != known["format"]:
        number = document.get("format")
        refuse(f"{path}: format {number if is_integer(number) else 0}; this shpool-bench "
               f"({known['version']}) reads format {known['format']}: measure again, or use the "
               "version that wrote it")
    results = members(path, known["facts"], document)
    if not isinstance(document.get("rows"), list):
        refuse(f'{path}: "rows" is not an array')
    results["rows"] = []
    for number, given in enumerate(document["rows"], 1):
        row = members(f"{path}: row {number}", known["rows"],
                      given if isinstance(given, dict) else {})
        for member, names in known["names"].items():
            if row[member] not in names:
                refuse(f'{path}: row {number} has the {member} "{row[member]}"; known: ' +
                       " ".join(names))
        results["rows"].append(row)
    return results


# ---- one figure of two rows ----

# A median distance from the median, times this, is what a normal distribution calls sigma.
SIGMA_OF_MAD, SIGMAS = 1.4826, 3.0
FEW = 3  # fewer samples than this do not show their spread
MOST_RATIO = 1e6

# speed: above 1: B is faster; None: nothing to compare.  noise: percent.  apart: neither median
# lies among the other's samples.
Change = collections.namedtuple("Change", "a b speed noise apart", defaults=(None, None, 0))


def sigma(samples, spread):
    """In percent of the median; 0: too few samples."""
    return 0.0 if len(samples) < FEW or spread is None else SIGMA_OF_MAD * spread


def among(value, samples):
    """Whether the value lies among the samples; few samples do not tell."""
    return len(samples) >= FEW and value is not None and min(samples) <= value <= max(samples)


def change(a, b, figure, least):
    value, spread, samples = ([row[name] for row in (a, b)] for name in FIGURES[figure])
    noise = SIGMAS * math.hypot(*map(sigma, samples, spread))
    apart = not among(value[0], samples[1]) and not among(value[1], samples[0])
    speed = None
    if value[0] and value[1] is not None:
        if figure == "rate":
            speed = value[1] / value[0]
        elif value[1]:
            speed = value[0] / value[1]
    return Change(*value, speed, max(noise, least), apart)


FIGURES = {"rate": ("gops", "gops_spread_percent", "gops_samples"),
           "cycles": ("cycles_per_op", "cycles_spread_percent", "cycles_samples")}


def direction(c):
    """-1 slower, 0 the same, 1 faster: by more than noise."""
    if c.speed is None or not c.apart:
        return 0
    most = 1 + 0.01 * c.noise
    return (c.speed > most) - (c.speed < 1 / most)


def slowdown(c):
    """How many times as long B takes; 0: not more than noise."""
    return 1 / max(c.speed, 1 / MOST_RATIO) if direction(c) < 0 else 0.0


# ---- two rows ----

# Whether it is worse, whatever --fail-on, which is about time.
VERDICTS = {"same": False, "faster": False, "slower": False, "refuses more": True,
            "holds less": True, "fails": True, "no longer fails": False, "only in A": True,
            "only in B": False}


def judge(a, b, rate, cycles):
    absent, broken = ([test(row) for row in (a, b)] for test in (
        lambda row: row["state"] == "n/a",
        lambda row: row["state"] == "failed" or row["errors"] != 0))
    if any(absent):
        return "same" if all(absent) else "only in B" if absent[0] else "only in A"
    if any(broken):
        return "same" if all(broken) else "fails" if broken[1] else "no longer fails"
    # 10 % more, and at least 0.1 % of the operations: threads that race for the last blocks do not
    # fail equally often
    if (b["failures_percent"] or 0) > (a["failures_percent"] or 0) * 1.1 + 0.1:
        return "refuses more"
    # ramp and aging: one percentage point less of the pool; which thread fails first is a race
    held = a["utilisation_percent"]
    if held is not None and (-1 if b["utilisation_percent"] is None
                             else b["utilisation_percent"]) < held - 1:
        return "holds less"
    if direction(rate) < 0 or (direction(rate) == 0 and direction(cycles) < 0):
        return "slower"
    return "faster" if direction(rate) > 0 or direction(cycles) > 0 else "same"


def point(row):
    """What rows of the same measurement have in common."""
    return tuple(row[name] for name in (
        "spec", "binding", "workload", "scope", "median_bytes", "touched", "threads",
        "payload_bytes", "total_bytes", "threads_per_pool"))


def workload(row):
    """Of objects also what else tells rows apart: "objects/warp/2000/untouched"."""
    if not row["scope"]:
        return row["workload"]
    return (f"{row['workload']}/{row['scope']}/{row['median_bytes']}" +
            "/untouched" * (not row["touched"]))


# ---- output ----

def fact_text(name, kind, results):
    """A fact; of those that a sweep has no single value for, all that its rows have."""
    value = results[name]
    if kind == "int" and value is None:
        swept = dict.fromkeys(row[name] for row in results["rows"] if row[name])
        return ", ".join(map(str, list(swept)[:64])) or "none"
    return "" if value is None else f"{value:.6g}" if kind == "real" else str(value)


def asked(command):
    """The words of a command that say what is measured, not where the results go."""
    try:
        words = collections.deque(shlex.split(command))
    except ValueError:
        return command
    found = []
    while words:
        word = words.popleft()
        name = word[2:].split("=")[0]
        if not word.startswith("--") or not name or not any(
                o.startswith(name) for o in ("plot", "json", "csv")):
            found.append(word)
        elif "plot".startswith(name) and "=" not in word and words:
            words.popleft()  # its file; those of the others follow a =
    return found


class Table:
    def __init__(self, noise, changed, every):
        self.noise, self.changed = noise, changed
        self.width = max([8] + [len(workload(row)) for row in every])
        self.count = collections.Counter()
        self.speeds, self.worst = [], 0.0
        self.few = self.others = 0  # rows with too few samples, and of other operations

    def put(self, row, rate, cycles, a, b, verdict):
        shares = [row and row[name] for name in ("failures_percent", "utilisation_percent")
                  for row in (a, b)]
        figures = zip((rate.a, rate.b, rate.speed, rate.noise, cycles.speed, *shares),
                      ("%.4g", "%.4g", "%.3f", "%.1f", "%.3f", "%.2f", "%.2f", "%.1f", "%.1f"))
        cells = ["-" if value is None else form % value for value, form in figures]
        print("%-18s %-7s %-*s %7u %7u %6u" % (
            row["spec"], row["binding"], self.width, workload(row), row["threads"],
            row["payload_bytes"] or row["total_bytes"], row["threads_per_pool"]),
            *(f"{cell:>9}" for cell in cells), "", "" if verdict == "same" else verdict)

    def take(self, a, b):
        rate, cycles = change(a, b, "rate", self.noise), change(a, b, "cycles", self.noise)
        verdict = judge(a, b, rate, cycles)
        self.count[verdict] += 1
        self.others += bool(a["digest"] and b["digest"] and a["digest"] != b["digest"])
        if rate.speed:
            self.few += min(len(a["gops_samples"]), len(b["gops_samples"])) < FEW
            self.speeds.append(rate.speed)
        if verdict == "slower":
            self.worst = max(self.worst, slowdown(rate), slowdown(cycles))
        if verdict != "same" or not self.changed:
            self.put(b, rate, cycles, a, b, verdict)

    def take_lonely(self, a, b):
        """A row that the other file lacks."""
        verdict = "only in A" if a else "only in B"
        self.count[verdict] += 1
        self.put(a or b, Change(a and a["gops"], b and b["gops"]), Change(None, None), a, b,
                 verdict)

    def summary(self):
        def rows(number):
            return f"# {number} row" + "s" * (number != 1)

        words = [f"{self.count[v]} {v}" for v in VERDICTS if self.count[v]]
        if self.speeds:
            mean = math.exp(math.fsum(map(math.log, self.speeds)) / len(self.speeds))
            words.append(f"geometric mean of the speeds {mean:.3f}")
        print(rows(sum(self.count.values())) + (": " + "; ".join(words) if words else ""))
        if self.few:
            print(f"{rows(self.few)} {'has' if self.few == 1 else 'have'} fewer than {FEW} "
                  "samples: the spread is not known")
        if self.others:
            print(f"{rows(self.others)} did other operations: another seed, other iterations, or "
                  "other requests were refused")


def compare(noise, fail_on, changed, paths, known):
    """All rows: those of B in their order, then those that only A has."""
    a, b = results = [read(path, known) for path in paths]
    for letter, path, of in zip("AB", paths, results):
        print(f"# {letter}: {shown(path)}, {of['date']}")
    for name, kind, _ in known["facts"]:
        text_a, text_b = (fact_text(name, kind, of) for of in results)
        if text_a != text_b and name != "date" and (name != "command" or
                                                    asked(text_a) != asked(text_b)):
            print(f"# {name} differs: A {text_a}; B {text_b}")
    print("# speed is B's over A's: above 1 B is faster; what differs by less than noise (% of "
          f"the rate: 3 sigma, at least {noise:g}) is not reported")
    table = Table(noise, changed, a["rows"] + b["rows"])
    print("%-18s %-7s %-*s %7s %7s %6s" % ("allocator", "binding", table.width, "workload",
                                           "threads", "bytes", "a pool"),
          *(f"{name:>9}" for name in ("A Gop/s", "B Gop/s", "speed", "noise %", "by cycles",
                                      "A failed%", "B failed%", "A util %", "B util %")))
    in_a, in_b = ({point(row): row for row in reversed(of["rows"])} for of in results)
    for row in b["rows"]:
        before = in_a.get(point(row))
        (table.take if before else table.take_lonely)(before, row)
    for row in a["rows"]:
        if point(row) not in in_b:
            table.take_lonely(row, None)
    table.summary()
    worse = table.worst >= fail_on or any(VERDICTS[v] for v in table.count)
    return WORSE if fail_on > 0 and worse else 0


def main(what, *words):
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    known = json.load(open(3))
    try:
        if what == "read":
            json.dump({"workloads": known["workloads"], "results": read(words[0], known)},
                      sys.stdout)
            return 0
        noise, fail_on, changed = map(float, words[:3])
        return compare(noise, fail_on, changed, words[3:], known)
    except MemoryError:
        refuse("no memory for the results")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
