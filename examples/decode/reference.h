/* SPDX-License-Identifier: BSD-3-Clause */
/* The same step on the host, with plain loops and matrices in their natural order. */
#ifndef SHPOOL_EXAMPLES_DECODE_REFERENCE_H
#define SHPOOL_EXAMPLES_DECODE_REFERENCE_H

#include "weights.h"

static inline float host_float(uint16_t bf16)
{
    const uint32_t bits = static_cast<uint32_t>(bf16) << 16;
    float          f;

    std::memcpy(&f, &bits, sizeof(f));
    return f;
}
static inline float host_round(float f) /* to bf16 */
{
    uint32_t bits;

    std::memcpy(&bits, &f, sizeof(bits));
    return host_float(static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16));
}

class reference {
public:
    typedef std::vector<float> numbers;

    reference(const shape &s, uint32_t context) : s_(s), keys_(s.layers), values_(s.layers)
    {
        for (uint32_t l = 0; l < s.layers; l++) {
            for (uint32_t t = 0; t < context; t++) {
                for (uint32_t i = 0; i < s.kv_heads * s.head_dim; i++) {
                    const uint32_t row = i / s.head_dim * 65536u + t;

                    keys_[l].push_back(weight(NAME_KEYS, l, row, i % s.head_dim, 0));
                    values_[l].push_back(weight(NAME_VALUES, l, row, i % s.head_dim, 0));
                }
            }
        }
    }

    std::vector<numbers> after_layer; /* of the last step */
    numbers              logits;

    void step(uint32_t token)
    {
        numbers x(s_.hidden);

        after_layer.clear();
        for (uint32_t c = 0; c < s_.hidden; c++) {
            x[c] = weight(NAME_HEAD, 0, token, c, s_.hidden);
        }
        for (uint32_t l = 0; l < s_.layers; l++) {
            add(&x, attention(l, norm(NAME_NORM_1, l, x)));
            add(&x, feed_forward(l, norm(NAME_NORM_2, l, x)));
            after_layer.push_back(x);
        }
        logits = times(NAME_HEAD, 0, s_.vocab, norm(NAME_NORM, 0, x));
    }

private:
    static float weight(uint32_t name, uint32_t l, uint32_t row, uint32_t c, uint32_t columns)
    {
        return host_float(made_up(name, l, row, c, columns));
    }
    static void add(numbers *to, const numbers &from)
    {
        for (size_t i = 0; i < to->size(); i++) {
            (*to)[i] += from[i];
        }
    }
    static numbers times(uint32_t name, uint32_t l, uint32_t rows, const numbers &x)
    {
        const uint32_t columns = static_cast<uint32_t>(x.size());
        numbers        y(rows);

        for (uint32_t r = 0; r < rows; r++) {
            double sum = 0;

            for (uint32_t c = 0; c < columns; c++) {
                sum += static_cast<double>(x[c]) * weight(name, l, r, c, columns);
            }
            y[r] = static_cast<float>(sum);
        }
        return y;
    }
    static numbers norm(uint32_t name, uint32_t l, numbers x)
    {
        double square = 0;

        for (float v : x) {
            square += static_cast<double>(v) * v;
        }
        const double root = std::sqrt(square / static_cast<double>(x.size()) + NORM_EPSILON);

        for (uint32_t c = 0; c < x.size(); c++) {
            x[c] *= static_cast<float>(weight(name, l, 0, c, 0) / root);
        }
        return x;
    }
    /* The rotary embedding of all heads of x. */
    void turn(numbers *x, double position) const
    {
        const uint32_t half = s_.head_dim / 2u;

        for (size_t head = 0; head < x->size(); head += s_.head_dim) {
            for (uint32_t i = 0; i < half; i++) {
                const double angle = position * std::pow(ROTARY_BASE, -2.0 * i / s_.head_dim);
                const double c = std::cos(angle), n = std::sin(angle);
                float       &a = (*x)[head + i], &b = (*x)[head + i + half];
                const float  turned = static_cast<float>(a * c - b * n);

                b = static_cast<float>(b * c + a * n);
                a = turned;
            }
        }
    }
    numbers attention(uint32_t l, const numbers &x)
    {
        const uint32_t width    = s_.kv_heads * s_.head_dim;
        const double   position = static_cast<double>(keys_[l].size() / width);
        numbers        q        = times(NAME_Q, l, s_.query(), x);
        numbers        k        = times(NAME_K, l, width, x);
        const numbers  v        = times(NAME_V, l, width, x);
        numbers        o(s_.query());

        turn(&q, position);
        turn(&k, position);
        std::transform(k.begin(), k.end(), std::back_inserter(keys_[l]), host_round);
        std::transform(v.begin(), v.end(), std::back_inserter(values_[l]), host_round);
        for (uint32_t h = 0; h < s_.heads; h++) {
            attend(l, &q[h * s_.head_dim], h / s_.group() * s_.head_dim, &o[h * s_.head_dim]);
        }
        return times(NAME_OUT, l, s_.hidden, o);
    }
    /* One query head; at: its keys' and values' place in each token's. */
    void attend(uint32_t l, const float *q, uint32_t at, float *o) const
    {
        std::vector<double> sum(s_.head_dim);
        double              all = 0;

        for (size_t t = at; t < keys_[l].size(); t += s_.kv_heads * s_.head_dim) {
            double score = 0;

            for (uint32_t i = 0; i < s_.head_dim; i++) {
                score += static_cast<double>(q[i]) * keys_[l][t + i];
            }
            score = std::exp(score / std::sqrt(static_cast<double>(s_.head_dim)));
            all += score;
            for (uint32_t i = 0; i < s_.head_dim; i++) {
                sum[i] += score * values_[l][t + i];
            }
        }
        for (uint32_t i = 0; i < s_.head_dim; i++) {
            o[i] = static_cast<float>(sum[i] / all);
        }
    }
    numbers feed_forward(uint32_t l, const numbers &x) const
    {
        numbers       gate = times(NAME_GATE, l, s_.ff, x);
        const numbers up   = times(NAME_UP, l, s_.ff, x);

        for (uint32_t i = 0; i < s_.ff; i++) {
            gate[i] = gate[i] / (1.0f + std::exp(-gate[i])) * up[i];
        }
        return times(NAME_DOWN, l, s_.hidden, gate);
    }

    shape                s_;
    std::vector<numbers> keys_, values_; /* by layer: of each token, of each head */
};

#endif /* SHPOOL_EXAMPLES_DECODE_REFERENCE_H */
