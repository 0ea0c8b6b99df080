#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""How much of a pool can be used when objects of very different sizes come and go?

A model of the benchmark's workload `aging` (tools/bench/block/aging.h): requests of lognormal
sizes, 15 frees of a random object for 16 requests, until the first refusal.  It compares policies
that no allocator has with those that there are, and with `compact`, which moves live objects: no
allocator that leaves objects in place does better.

    fragmentation.py [-n LIVES] [KIB...]     lives of a pool [300], sizes of pools [48 96 200]
"""
import argparse
import bisect
import random

GRANULE = 16
MEDIAN, SIGMA, LARGEST = 512, 1.155, 16384


class Pool:
    """Free holes [start, end) in granules, sorted by address."""

    def __init__(self, granules):
        self.holes = [(0, granules)]

    def take(self, index, need, top):
        start, end = self.holes[index]
        at = end - need if top else start
        left = (start, at) if top else (start + need, end)
        self.holes[index:index + 1] = [left] if left[0] < left[1] else []
        return at

    def give(self, start, end):
        i = bisect.bisect(self.holes, (start, end))
        if i < len(self.holes) and self.holes[i][0] == end:
            end = self.holes.pop(i)[1]
        if i > 0 and self.holes[i - 1][1] == start:
            i -= 1
            start = self.holes.pop(i)[0]
        self.holes.insert(i, (start, end))

    def choose(self, need, key, top=False):
        """Place a request in the hole with the least key(index); None if it fits nowhere."""
        fits = [i for i, (a, b) in enumerate(self.holes) if b - a >= need]
        return self.take(min(fits, key=key), need, top) if fits else None

    def size(self, index):
        return self.holes[index][1] - self.holes[index][0]


def first_fit(pool, need):
    return pool.choose(need, lambda i: i)


def best_fit(pool, need):
    return pool.choose(need, pool.size)


def worst_fit(pool, need):
    return pool.choose(need, lambda i: -pool.size(i))


def random_fit(pool, need):
    return pool.choose(need, lambda i: random.random())


def two_ends(limit, size=lambda pool, i: 0):
    """Requests of at least `limit` bytes from the top, the others from the bottom."""
    def place(pool, need):
        top = need * GRANULE >= limit
        return pool.choose(need, lambda i: (size(pool, i), -i if top else i), top)
    return place


def best_of_two_ends(limit):
    return two_ends(limit, Pool.size)


def best_of(span):
    """The best of the holes that begin in the `span` bytes after the first that fits."""
    def place(pool, need):
        end = next((a for a, b in pool.holes if b - a >= need), 0) + span // GRANULE
        return pool.choose(need, lambda i: (pool.holes[i][0] >= end, pool.size(i)))
    return place


def in_words(policy, span=11):
    """Requests of at most a word's granules first look for a hole inside one word."""
    def place(pool, need):
        if need <= span:
            for i, (a, b) in enumerate(pool.holes):
                at = a
                while at + need <= b:
                    if at // span == (at + need - 1) // span:
                        if at == a:
                            return pool.take(i, need, False)
                        pool.holes[i:i + 1] = [(a, at), (at, b)]
                        return pool.take(i + 1, need, False)
                    at = (at // span + 1) * span
        return policy(pool, need)
    return place


def life(place, kib, seed):
    rng = random.Random(seed)
    random.seed(seed)
    granules = (kib * 1024 - 64) // (176 + 4) * 11   # 4 bytes of marks for 11 granules
    pool, live, free = Pool(granules), [], granules
    while True:
        bytes_ = min(max(int(MEDIAN * rng.lognormvariate(0, SIGMA)), 16), LARGEST)
        need = -(-bytes_ // GRANULE)
        if place is None:
            at = 0 if need <= free else None
        else:
            at = place(pool, need)
        if at is None:
            return sum(o[2] for o in live) / (kib * 1024)
        free -= need
        live.append((at, at + need, bytes_))
        if len(live) > 1 and rng.random() < 15 / 16:
            i = rng.randrange(len(live))
            live[i], live[-1] = live[-1], live[i]
            start, end, _ = live.pop()
            free += end - start
            if place is not None:
                pool.give(start, end)


POLICIES = [
    ("compact (a bound)", None),
    ("first fit", first_fit),
    ("first fit, words first", in_words(first_fit)),
    ("best fit", best_fit),
    ("best of 4 KiB after the first fit", best_of(4096)),
    ("best of 16 KiB after the first fit", best_of(16384)),
    ("first fit, from 1 KiB on from the top", two_ends(1024)),
    ("first fit, from 4 KiB on from the top", two_ends(4096)),
    ("best fit, from 1 KiB on from the top", best_of_two_ends(1024)),
    ("best fit, from 4 KiB on from the top", best_of_two_ends(4096)),
    ("any hole that fits", random_fit),
    ("worst fit", worst_fit),
]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-n", type=int, default=300)
    parser.add_argument("kib", nargs="*", type=int, default=[48, 96, 200])
    options = parser.parse_args()
    print(f"{'policy':40}" + "".join(f"{k:>5} KiB  " for k in options.kib))
    for name, place in POLICIES:
        cells = []
        for kib in options.kib:
            used = [life(place, kib, seed) for seed in range(options.n)]
            cells.append(f"{100 * sum(used) / len(used):9.1f}  ")
        print(f"{name:40}" + "".join(cells), flush=True)


if __name__ == "__main__":
    main()
