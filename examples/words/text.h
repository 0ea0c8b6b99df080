/* SPDX-License-Identifier: BSD-3-Clause */
/* Texts on the host: made up or read, and their words counted. */
#ifndef SHPOOL_EXAMPLES_WORDS_TEXT_H
#define SHPOOL_EXAMPLES_WORDS_TEXT_H

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <unordered_map>
#include <vector>

typedef std::unordered_map<std::string, uint32_t> word_counts;

struct random_numbers { /* xorshift64* (Marsaglia; Vigna) */
    uint64_t state;

    uint32_t next()
    {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        return static_cast<uint32_t>((state * 2685821657736338717ull) >> 32);
    }
};

/* The word of a rank: frequent ones are short, one in 100 is long, as names and addresses are. */
static inline std::string make_word(uint32_t rank)
{
    random_numbers random = { 0x9e3779b97f4a7c15ull * (rank + 1u) };
    uint32_t       length = 2u + random.next() % 4u;
    std::string    word;

    for (uint32_t r = rank; r > 3u; r /= 4u) {
        length += random.next() % 2u;
    }
    if ((rank > 50u) && (random.next() % 100u == 0)) {
        length = 20u + random.next() % 80u;
    }
    for (uint32_t i = 0; i < length; i++) {
        word += static_cast<char>('a' + random.next() % 26u);
    }
    return word;
}

/* Words with Zipf's distribution: the k-th is drawn in proportion to 1/k. */
static inline std::vector<uint8_t> make_text(size_t bytes, uint32_t vocabulary)
{
    random_numbers           random = { 20240607u };
    std::vector<std::string> words;
    std::vector<double>      below;
    std::vector<uint8_t>     text;
    double                   sum      = 0;
    bool                     sentence = true;
    size_t                   line     = 0;

    for (uint32_t rank = 0; rank < vocabulary; rank++) {
        words.push_back(make_word(rank));
        sum += 1.0 / (rank + 1.0);
        below.push_back(sum);
    }
    text.reserve(bytes + 128u);
    while (text.size() < bytes) {
        const double       u    = random.next() / 4294967296.0 * sum;
        const size_t       rank = std::upper_bound(below.begin(), below.end(), u) - below.begin();
        const std::string &word = words[std::min(rank, words.size() - 1u)];
        const size_t       from = text.size();

        text.insert(text.end(), word.begin(), word.end());
        if (sentence) {
            text[from] = static_cast<uint8_t>(text[from] - 'a' + 'A');
        }
        sentence = random.next() % 16u == 0;
        if (sentence) {
            text.push_back('.');
        }
        line += text.size() - from;
        text.push_back((line > 70u) ? '\n' : ' ');
        line = (line > 70u) ? 0 : line;
    }
    text.resize(bytes);
    return text;
}

static inline std::vector<uint8_t> read_text(const char *path)
{
    std::vector<uint8_t> text;
    uint8_t              part[65536];
    std::FILE           *file = std::fopen(path, "rb");
    size_t               got;

    if (file == nullptr) {
        machine_fail(path, "cannot be opened");
    }
    while ((got = std::fread(part, 1, sizeof(part), file)) != 0) {
        text.insert(text.end(), part, part + got);
    }
    std::fclose(file);
    return text;
}

/* The reference, with std::unordered_map. */
static inline word_counts count_on_host(const std::vector<uint8_t> &text)
{
    word_counts counts;
    std::string word;

    for (size_t i = 0; i <= text.size(); i++) {
        const uint32_t c = (i < text.size()) ? fold(text[i]) : 0u;

        if (c != 0) {
            word += static_cast<char>(c);
        } else if (!word.empty()) {
            counts[word]++;
            word.clear();
        }
    }
    return counts;
}

#endif /* SHPOOL_EXAMPLES_WORDS_TEXT_H */
