/* SPDX-License-Identifier: BSD-3-Clause */
/* The same step on the host, with plain loops and matrices in their natural order. */
#ifndef SHPOOL_EXAMPLES_DECODE_REFERENCE_H
#define SHPOOL_EXAMPLES_DECODE_REFERENCE_H

#include "safetensors.h"

#include <algorithm>

static inline float host_float(uint16_t bf16)
{
    const uint32_t bits = static_cast<uint32_t>(bf16) << 16;
    float          f;

    std::memcpy(&f, &bits, sizeof(f));
    return f;
}
static inline float host_round(float f)
{
    uint32_t bits;

    std::memcpy(&bits, &f, sizeof(bits));
    return host_float(static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16));
}
/* Round to bf16 as the machine did, if its number is within three quarters of a step.  The
 * machine's vectors have 16 bits, so a number near the middle of a step may be rounded to the other
 * side.  A step is 2^-8 to 2^-7 of the number; at a short context the layer's output would differ
 * by more than the tolerance. */
static inline float host_round_like(float f, float on_machine)
{
    int exponent = 0;

    (void)std::frexp(f, &exponent);
    return (std::fabs(on_machine - f) <= 0.75f * std::ldexp(1.0f, exponent - 8)) ? on_machine
                                                                                : host_round(f);
}

class reference {
public:
    typedef std::vector<float> numbers;

    /* file: the source of the weights, or NULL. */
    reference(const shape &s, uint32_t context, tensor_file *file)
        : s_(s), file_(file), keys_(s.layers), values_(s.layers)
    {
        for (uint32_t l = 0; l < s.layers; l++) {
            for (uint32_t t = 0; t < context; t++) {
                keys_[l].push_back(cached(NAME_KEYS, l, t));
                values_[l].push_back(cached(NAME_VALUES, l, t));
            }
        }
    }

    std::vector<numbers> after_attention, after_layer; /* of the last step, by layer */
    numbers              logits;

    /* The token that comes after `token`.  written(layer, NAME_KEYS or NAME_VALUES): what the
     * machine has written for this token, in natural order. */
    template <class Written>
    uint32_t step(uint32_t token, const Written &written)
    {
        numbers x(s_.hidden);

        after_attention.clear();
        after_layer.clear();
        for (uint32_t c = 0; c < s_.hidden; c++) {
            x[c] = weight(NAME_HEAD, 0, token, c, s_.hidden);
        }
        for (uint32_t l = 0; l < s_.layers; l++) {
            add(&x, attention(l, norm(NAME_NORM_1, l, x), written));
            after_attention.push_back(x);
            add(&x, feed_forward(l, norm(NAME_NORM_2, l, x)));
            after_layer.push_back(x);
        }
        logits = times(NAME_HEAD, 0, s_.vocab, norm(NAME_NORM, 0, x));
        return static_cast<uint32_t>(std::max_element(logits.begin(), logits.end()) -
                                     logits.begin());
    }

private:
    float weight(uint32_t name, uint32_t l, uint32_t row, uint32_t c, uint32_t columns) const
    {
        return host_float(((file_ == nullptr) || (name >= NAME_KEYS))
                              ? made_up(name, l, row, c, columns)
                              : file_->get(name, l)[size_t{ row } * file_->columns_of(name) + c]);
    }
    numbers cached(uint32_t name, uint32_t l, uint32_t token) const
    {
        numbers all(static_cast<size_t>(s_.kv_heads) * s_.head_dim);

        for (uint32_t i = 0; i < all.size(); i++) {
            all[i] = weight(name, l, i / s_.head_dim * 65536u + token, i % s_.head_dim, 0);
        }
        return all;
    }
    static void add(numbers *to, const numbers &from)
    {
        for (size_t i = 0; i < to->size(); i++) {
            (*to)[i] += from[i];
        }
    }
    numbers times(uint32_t name, uint32_t l, uint32_t rows, const numbers &x) const
    {
        numbers y(rows);

        for (uint32_t r = 0; r < rows; r++) {
            double sum = 0;

            for (uint32_t c = 0; c < x.size(); c++) {
                sum += static_cast<double>(x[c]) *
                       weight(name, l, r, c, static_cast<uint32_t>(x.size()));
            }
            y[r] = static_cast<float>(sum);
        }
        return y;
    }
    numbers norm(uint32_t name, uint32_t l, numbers x) const
    {
        double square = 0;

        for (float v : x) {
            square += static_cast<double>(v) * v;
        }
        for (uint32_t c = 0; c < x.size(); c++) {
            x[c] *= weight(name, l, 0, c, 0) /
                    static_cast<float>(std::sqrt(square / static_cast<double>(x.size()) +
                                                 NORM_EPSILON));
        }
        return x;
    }
    /* Rotary embedding of all heads of x, in place, for the position at the cache's end. */
    void turn(uint32_t l, numbers *x) const
    {
        const double position = static_cast<double>(keys_[l].size());

        for (size_t head = 0; head < x->size(); head += s_.head_dim) {
            for (uint32_t i = 0; i < s_.head_dim / 2u; i++) {
                const double angle = position * std::pow(ROTARY_BASE, -2.0 * i / s_.head_dim);
                float       *a     = &(*x)[head + i];
                float       *b     = &(*x)[head + i + s_.head_dim / 2u];
                const double c     = std::cos(angle);
                const double n     = std::sin(angle);
                const float  turned = static_cast<float>(*a * c - *b * n);

                *b = static_cast<float>(*b * c + *a * n);
                *a = turned;
            }
        }
    }
    template <class Written>
    numbers attention(uint32_t l, const numbers &x, const Written &written)
    {
        numbers q = times(NAME_Q, l, s_.query(), x);
        numbers k = times(NAME_K, l, s_.kv_heads * s_.head_dim, x);
        numbers v = times(NAME_V, l, s_.kv_heads * s_.head_dim, x);
        numbers o(s_.query());

        turn(l, &q);
        turn(l, &k);
        round_like(&k, written(l, NAME_KEYS));
        round_like(&v, written(l, NAME_VALUES));
        keys_[l].push_back(k);
        values_[l].push_back(v);
        for (uint32_t h = 0; h < s_.heads; h++) {
            attend(l, &q[h * s_.head_dim], h / s_.group() * s_.head_dim, &o[h * s_.head_dim]);
        }
        return times(NAME_OUT, l, s_.hidden, o);
    }
    static void round_like(numbers *x, const numbers &on_machine)
    {
        std::transform(x->begin(), x->end(), on_machine.begin(), x->begin(), host_round_like);
    }
    void attend(uint32_t l, const float *q, uint32_t at, float *o) const
    {
        std::vector<double> score;
        double              sum = 0;

        for (const numbers &k : keys_[l]) {
            double s = 0;

            for (uint32_t i = 0; i < s_.head_dim; i++) {
                s += static_cast<double>(q[i]) * k[at + i];
            }
            score.push_back(s / std::sqrt(static_cast<double>(s_.head_dim)));
        }
        const double top = *std::max_element(score.begin(), score.end());

        for (double &s : score) {
            s = std::exp(s - top);
            sum += s;
        }
        for (uint32_t i = 0; i < s_.head_dim; i++) {
            double all = 0;

            for (size_t t = 0; t < score.size(); t++) {
                all += score[t] * values_[l][t][at + i];
            }
            o[i] = static_cast<float>(all / sum);
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

    shape                             s_;
    tensor_file                      *file_;
    std::vector<std::vector<numbers>> keys_, values_; /* by layer and token */
};

#endif /* SHPOOL_EXAMPLES_DECODE_REFERENCE_H */
