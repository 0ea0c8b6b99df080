/* SPDX-License-Identifier: BSD-3-Clause */
/* Documents on the host, one a line: generated or read, and their repeats counted. */
#ifndef SHPOOL_EXAMPLES_REPEATS_DOCUMENTS_H
#define SHPOOL_EXAMPLES_REPEATS_DOCUMENTS_H

#include "grams.h"

#include <cctype>
#include <cmath>
#include <fstream>
#include <iterator>

struct documents {
    std::vector<uint8_t>  text;
    std::vector<uint32_t> begin; /* of each, and the end of the last one */
};

struct random_numbers { /* xorshift64* (Marsaglia; Vigna) */
    uint64_t state;

    uint32_t next()
    {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        return static_cast<uint32_t>((state * 2685821657736338717ull) >> 32);
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

    for (uint32_t r = rank; r > 3u; r /= 4u) {
        length += random.next() % 2u;
    }
    for (uint32_t i = 0; i < length; i++) {
        word += static_cast<char>('a' + random.next() % 26u);
    }
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
            sum += 1.0 / (rank + 1.0);
            below.push_back(sum);
        }
    }
    const std::string &next()
    {
        const double u = random.uniform() * below.back();

        return words[static_cast<size_t>(std::upper_bound(below.begin(), below.end() - 1, u) -
                                         below.begin())];
    }
};

/* One document; every twentieth sentence repeats earlier words. */
static inline void make_document(word_source &source, uint32_t words, std::vector<uint8_t> &text)
{
    std::vector<std::string> past;

    while (past.size() < words) {
        const size_t length = std::min<size_t>(4u + source.random.next() % 20u,
                                               words - past.size());
        const bool   again  = (source.random.next() % 20u == 0) && (past.size() > length);
        const size_t from   = again ? source.random.next() % (past.size() - length) : 0u;

        for (size_t i = 0; i < length; i++) {
            past.push_back(again ? past[from + i] : source.next());
        }
        for (size_t i = past.size() - length; i < past.size(); i++) {
            const size_t at = text.size();

            text.insert(text.end(), past[i].begin(), past[i].end());
            if (i == past.size() - length) {
                text[at] = static_cast<uint8_t>(text[at] - 'a' + 'A');
            }
            text.push_back((i + 1u < past.size()) ? ' ' : '.');
        }
        text.push_back(' ');
    }
    text.push_back('\n');
}

/* Lengths as on web pages: their logarithms have a normal distribution, half of the documents have
 * up to `middle` words, one in six has more than three times as many.  If `longest` is not 0, the
 * first document has that many. */
static inline std::vector<uint8_t> make_text(size_t bytes, uint32_t vocabulary, double middle,
                                             uint32_t longest)
{
    word_source          source(vocabulary);
    std::vector<uint8_t> text;

    text.reserve(bytes + bytes / 8u);
    if (longest != 0) {
        make_document(source, longest, text);
        bytes += text.size();
    }
    while (text.size() < bytes) {
        const double words = middle * std::exp(1.1 * source.random.normal());

        make_document(source, static_cast<uint32_t>(std::min(std::max(words, 4.0), 50000.0)),
                      text);
    }
    return text;
}

static inline std::vector<uint8_t> read_text(const char *path)
{
    std::ifstream        in(path, std::ios::binary);
    std::vector<uint8_t> text{ std::istreambuf_iterator<char>(in), {} };

    if (text.empty()) {
        machine_fail(path, "is empty, or cannot be read");
    }
    return text;
}

/* Lines up to this have offsets of 32 bits in all that is reckoned from them. */
#define LONGEST_LINE (256u << 20)

static inline documents split_lines(std::vector<uint8_t> text)
{
    documents all = { {}, { 0 } };

    if (text.size() >= 0xffff0000u) {
        machine_fail("text", "has 4 GiB or more");
    }
    for (size_t i = 0; i < text.size(); i++) {
        if ((text[i] == '\n') || (i + 1u == text.size())) {
            all.begin.push_back(static_cast<uint32_t>(i + 1u));
        }
        if (i + 1u - all.begin.back() > LONGEST_LINE) {
            machine_fail("line " + std::to_string(all.begin.size()), "has more than 256 MiB");
        }
    }
    all.text = std::move(text);
    return all;
}

/* The hashes of a document's words.  Words are found and written in small letters without the
 * kernels' code; only the hash is theirs, because it decides which words are equal. */
static inline std::vector<uint32_t> words_of(const documents &all, size_t d)
{
    std::vector<uint32_t> words;
    std::vector<uint8_t>  word;

    for (uint32_t at = all.begin[d]; at < all.begin[d + 1u]; at++) {
        const int  c         = all.text[at];
        const bool is_letter = (c >= 128) || (std::isalnum(c) != 0);

        if (is_letter) {
            word.push_back(static_cast<uint8_t>((c >= 128) ? c : std::tolower(c)));
        }
        if (!word.empty() && (!is_letter || (at + 1u == all.begin[d + 1u]))) {
            words.push_back(hash_word(word.data(), 0, static_cast<uint32_t>(word.size())));
            word.clear();
        }
    }
    return words;
}

/* The reference: LENGTHS counts for each document, of runs whose words' hashes have occurred in
 * this order before.  It sorts hashes of runs, with 64 bits. */
static inline std::vector<uint32_t> count_on_host(const documents &all)
{
    std::vector<uint32_t> repeats;
    std::vector<uint64_t> sorted;

    for (size_t d = 0; d + 1u < all.begin.size(); d++) {
        const std::vector<uint32_t> words = words_of(all, d);
        std::vector<uint64_t>       runs(words.begin(), words.end());

        for (uint32_t n = 1; n <= LENGTHS; n++) {
            sorted = runs;
            std::sort(sorted.begin(), sorted.end());
            sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
            repeats.push_back(static_cast<uint32_t>(runs.size() - sorted.size()));
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
