/* SPDX-License-Identifier: BSD-3-Clause */
/* Documents on the host, one a line: generated or read, sorted, and their repeats counted. */
#ifndef SHPOOL_EXAMPLES_REPEATS_DOCUMENTS_H
#define SHPOOL_EXAMPLES_REPEATS_DOCUMENTS_H

#include "grams.h"

#include <cctype>
#include <cmath>
#include <fstream>
#include <iterator>

struct random_numbers { /* xorshift64* (Marsaglia; Vigna) */
    uint64_t state;

    uint32_t next()
    {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        return (uint32_t)((state * 2685821657736338717ull) >> 32);
    }
    double uniform() { return (next() + 0.5) / 4294967296.0; }
    double normal() /* Box and Muller */
    {
        return std::sqrt(-2.0 * std::log(uniform())) * std::cos(6.283185307179586 * uniform());
    }
};

/* The word of a rank; frequent words are short. */
static inline std::string make_word(uint32_t rank)
{
    random_numbers random = { 0x9e3779b97f4a7c15ull * (rank + 1u) };
    uint32_t       length = 2u + random.next() % 4u;
    std::string    word;

    for (uint32_t r = rank; r > 3u; r /= 4u) { length += random.next() % 2u; }
    for (uint32_t i = 0; i < length; i++) { word += (char)('a' + random.next() % 26u); }
    return word;
}

/* Words with Zipf's distribution: the k-th is drawn in proportion to 1/k. */
struct word_source {
    std::vector<std::string> words;
    std::vector<double>      below;
    random_numbers           random = { 20240607u };

    explicit word_source(uint32_t vocabulary)
    {
        double sum = 0;

        for (uint32_t rank = 0; rank < vocabulary; rank++) {
            words.push_back(make_word(rank));
            below.push_back(sum += 1.0 / (rank + 1.0));
        }
    }
    const std::string &next()
    {
        const double u = random.uniform() * below.back();

        return words[(size_t)(std::upper_bound(below.begin(), below.end() - 1, u) -
                              below.begin())];
    }
};

/* One document; every twentieth sentence repeats earlier words. */
static inline void make_document(word_source &source, uint32_t words, std::string &text)
{
    std::vector<std::string> past;

    while (past.size() < words) {
        const size_t length = std::min<size_t>(4u + source.random.next() % 20u,
                                               words - past.size());
        const bool   again  = (source.random.next() % 20u == 0) && (past.size() > length);
        const size_t from   = again ? source.random.next() % (past.size() - length) : 0u;

        for (size_t i = 0; i < length; i++) {
            past.push_back(again ? past[from + i] : source.next());
            text += past.back() + ((i + 1u < length) ? " " : ". ");
        }
    }
    text += '\n';
}

/* Lengths as on web pages: their logarithms have a normal distribution, half of the documents have
 * up to `middle` words, and a sixth more than three times as many; the first has `first`. */
static inline std::string make_text(size_t bytes, uint32_t vocabulary, double middle,
                                    uint32_t first)
{
    word_source source(vocabulary);
    std::string text;

    text.reserve(bytes + bytes / 8u);
    make_document(source, first, text);
    while (text.size() < bytes) {
        const double words = middle * std::exp(1.1 * source.random.normal());

        make_document(source, (uint32_t)std::min(std::max(words, 4.0), 50000.0), text);
    }
    return text;
}

static inline std::string read_text(const char *path)
{
    std::ifstream in(path, std::ios::binary);
    std::string   text{ std::istreambuf_iterator<char>(in), {} };

    if (text.empty()) { machine_fail(path, "is empty, or cannot be read"); }
    return text;
}

struct documents {
    std::vector<uint32_t> hash;  /* of words */
    std::vector<listed>   order; /* the last class first */
    uint32_t              end[CLASSES + 1] = {}; /* of classes, in `order` */
    size_t                bytes = 0, left_out = 0;
};

/* Words are letters, digits and bytes from 128 on; capitals count as small letters.  Documents that
 * need more than `most` bytes are left out. */
static inline documents split(const std::string &text, uint32_t most)
{
    documents all;

    for (size_t at = 0, begin; at < text.size();) {
        listed   d    = { (uint32_t)all.order.size(), 0, (uint32_t)all.hash.size() };
        uint32_t hash = 0, letters = 0; /* of the word so far: FNV-1a (Fowler, Noll and Vo) */

        for (begin = at; (at == begin) || ((at < text.size()) && (text[at - 1u] != '\n')); at++) {
            const int  c         = (unsigned char)text[at];
            const bool is_letter = (c >= 128) || (std::isalnum(c) != 0);

            if (is_letter) {
                hash = (letters++ != 0) ? hash : 2166136261u;
                hash = (hash ^ (uint32_t)((c >= 128) ? c : std::tolower(c))) * 16777619u;
            }
            if ((letters != 0) && (!is_letter || (at + 1u == text.size()))) {
                all.hash.push_back(hash);
                letters = 0;
            }
        }
        d.words = (uint32_t)all.hash.size() - d.first;
        if (document_bytes(d.words) <= most) {
            all.order.push_back(d);
            all.bytes += at - begin;
        } else {
            all.hash.resize(d.first);
            all.left_out++;
        }
    }
    const auto class_of = [](const listed &d) {
        uint32_t which = 0;
        while (document_bytes(d.words) > class_bytes(which)) { which++; }
        return which;
    };
    std::stable_sort(all.order.begin(), all.order.end(), [&](const listed &a, const listed &b) {
        return class_of(a) > class_of(b);
    });
    for (const listed &d : all.order) {
        for (uint32_t k = 0; k <= class_of(d); k++) { all.end[k]++; }
    }
    return all;
}

/* The reference: LENGTHS counts for each document, of runs whose words' hashes have occurred in
 * this order before.  It sorts hashes of runs, with 64 bits. */
static inline std::vector<uint32_t> count_on_host(const documents &all)
{
    std::vector<uint32_t> repeats(LENGTHS * all.order.size());
    std::vector<uint64_t> sorted;

    for (const listed &d : all.order) {
        const uint32_t *const words = all.hash.data() + d.first;
        std::vector<uint64_t> runs(words, words + d.words);

        for (uint32_t n = 1; n <= LENGTHS; n++) {
            sorted = runs;
            std::sort(sorted.begin(), sorted.end());
            sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
            repeats[d.document * LENGTHS + n - 1u] = (uint32_t)(runs.size() - sorted.size());
            runs.resize(runs.empty() ? 0u : runs.size() - 1u);
            for (size_t i = 0; i < runs.size(); i++) {
                runs[i] = runs[i] * 0x9e3779b97f4a7c15ull + words[i + n];
                runs[i] ^= runs[i] >> 32;
            }
        }
    }
    return repeats;
}

#endif /* SHPOOL_EXAMPLES_REPEATS_DOCUMENTS_H */
