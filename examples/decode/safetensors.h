/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Weights from a file in Hugging Face's safetensors format: a single file in bf16, with the names
 * of Llama's tensors.  The shape comes from the options; a tensor with another shape is an error.
 * The embeddings serve as head, so a file with a head of its own is refused.  Scaling of the rotary
 * embedding (rope_scaling in the model's config.json) is not applied. */
#ifndef SHPOOL_EXAMPLES_DECODE_SAFETENSORS_H
#define SHPOOL_EXAMPLES_DECODE_SAFETENSORS_H

#include "weights.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <string>

/* The format: 8 bytes with the length of the header; the header in JSON, with the name, "dtype",
 * "shape" and "data_offsets" (from the end of the header) of each tensor; then the numbers. */
class tensor_file {
public:
    tensor_file(const shape &s, const char *path) : s_(s), path_(path), in_(path, std::ios::binary)
    {
        unsigned char length[8] = {};
        uint64_t      bytes     = 0;

        if (!in_) {
            machine_fail(path, (std::string("cannot be opened: ") + std::strerror(errno)).c_str());
        }
        in_.read(reinterpret_cast<char *>(length), sizeof(length));
        for (size_t i = 8; i-- > 0;) {
            bytes = bytes << 8 | length[i];
        }
        if (!in_) {
            machine_fail(path, "is not a safetensors file: its first 8 bytes cannot be read");
        }
        if (bytes > MOST_HEADER) {
            machine_fail(path, ("is not a safetensors file: its header would have " +
                                std::to_string(bytes) + " bytes, at most " +
                                std::to_string(MOST_HEADER) + " are read").c_str());
        }
        header_.resize(bytes);
        in_.read(&header_[0], static_cast<std::streamsize>(bytes));
        first_ = 8u + bytes;
        if (!in_) {
            machine_fail(path, ("ends after " + std::to_string(in_.gcount()) + " of the " +
                                std::to_string(bytes) + " bytes of its header").c_str());
        }
        if (header_.find("\"lm_head.weight\"") != std::string::npos) {
            fail("lm_head.weight", "is not supported: the embeddings must serve as head");
        }
    }

    /* The matrix, which is read on first use. */
    const std::vector<uint16_t> &get(uint32_t name, uint32_t layer)
    {
        std::vector<uint16_t> &to = all_[{ name, layer }];

        if (to.empty()) {
            to = read(file_name(name, layer), rows_of(name) * columns_of(name));
        }
        return to;
    }
    void forget() { all_.clear(); }

    uint32_t columns_of(uint32_t name) const
    {
        return (name == NAME_OUT) ? s_.query() : (name == NAME_DOWN) ? s_.ff : s_.hidden;
    }

private:
    static constexpr uint64_t MOST_HEADER = 1u << 28; /* bytes */

    size_t rows_of(uint32_t name) const
    {
        switch (name) {
        case NAME_NORM_1: case NAME_NORM_2: case NAME_NORM: return 1;
        case NAME_Q: return s_.query();
        case NAME_K: case NAME_V: return size_t{ s_.kv_heads } * s_.head_dim;
        case NAME_GATE: case NAME_UP: return s_.ff;
        case NAME_HEAD: return s_.vocab;
        default: return s_.hidden;
        }
    }
    std::string file_name(uint32_t name, uint32_t layer) const
    {
        static const char *const in_layer[] = {
            "input_layernorm", "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj",
            "self_attn.o_proj", "post_attention_layernorm", "mlp.gate_proj", "mlp.up_proj",
            "mlp.down_proj" };

        if (name == NAME_NORM) {
            return "model.norm.weight";
        }
        if (name == NAME_HEAD) { /* the embeddings serve as head: Llama 3.2's 1B and 3B */
            return "model.embed_tokens.weight";
        }
        return "model.layers." + std::to_string(layer) + "." + in_layer[name] + ".weight";
    }
    [[noreturn]] void fail(const std::string &tensor, const std::string &why) const
    {
        machine_fail(path_.c_str(), (tensor + " " + why).c_str());
    }
    /* The numbers in the list after "key" in the tensor's entry. */
    std::vector<uint64_t> list(const std::string &tensor, size_t from, const char *key) const
    {
        std::vector<uint64_t> found;
        const size_t          end = header_.find('}', from);
        size_t                at  = header_.find(key, from);

        at = (at < end) ? header_.find('[', at) : end;
        while ((at < end) && (header_[at] != ']')) {
            char *rest = nullptr;

            found.push_back(std::strtoull(&header_[at + 1u], &rest, 10));
            at = static_cast<size_t>(rest - &header_[0]);
            at = header_.find_first_of(",]", at);
        }
        if (found.empty()) {
            fail(tensor, "has an entry that is not understood");
        }
        return found;
    }
    std::vector<uint16_t> read(const std::string &tensor, size_t count)
    {
        const size_t          at = header_.find("\"" + tensor + "\"");
        std::vector<uint16_t> to(count);

        if (at == std::string::npos) {
            fail(tensor, "is missing");
        }
        const size_t                kind    = header_.find("\"BF16\"", at);
        const std::vector<uint64_t> offsets = list(tensor, at, "\"data_offsets\"");

        const size_t                bytes   = count * sizeof(to[0]);

        if (kind > header_.find('}', at)) {
            fail(tensor, "is not bf16: its dtype must be BF16");
        }
        if ((offsets.size() != 2u) || (offsets[1] - offsets[0] != bytes)) {
            fail(tensor, "has " + ((offsets.size() == 2u) ? std::to_string(offsets[1] - offsets[0])
                                                          : std::string("no number of")) +
                             " bytes, and " + std::to_string(bytes) +
                             " with the shape that the options give");
        }
        in_.seekg(static_cast<std::streamoff>(first_ + offsets[0]));
        in_.read(reinterpret_cast<char *>(to.data()), static_cast<std::streamsize>(bytes));
        if (!in_) {
            fail(tensor, "is cut off after " + std::to_string(in_.gcount()) + " of " +
                             std::to_string(bytes) + " bytes");
        }
        return to;
    }

    shape                                                        s_;
    std::string                                                  path_;
    std::ifstream                                                in_;
    std::string                                                  header_;
    uint64_t                                                     first_ = 0;
    std::map<std::pair<uint32_t, uint32_t>, std::vector<uint16_t>> all_;
};

/* Pack an operation's matrix from the file and copy it to the machine. */
static void load_matrix(const model &m, uint16_t *weights, tensor_file *file, uint32_t op,
                        uint32_t layer)
{
    const uint32_t        columns = m.columns(op);
    std::vector<uint16_t> packed(size_t{ m.rows(op) } * columns);

    for (uint32_t row = 0; row < m.rows(op); row++) {
        const natural                from = natural_row(m.s, op, row);
        const std::vector<uint16_t> &all  = file->get(from.name, layer);

        std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(size_t{ from.row } * columns),
                    columns, packed.begin() + static_cast<std::ptrdiff_t>(size_t{ row } * columns));
    }
    machine_write(weights + (m.matrix(op, layer) - m.weights), packed.data(),
                  packed.size() * sizeof(packed[0]));
}

static void load_gains(const model &m, uint16_t *weights, tensor_file *file, uint32_t op,
                       uint32_t layer, uint32_t name)
{
    const std::vector<uint16_t> &gains = file->get(name, (name == NAME_NORM) ? 0u : layer);

    machine_write(weights + (m.gains(op, layer) - m.weights), gains.data(),
                  gains.size() * sizeof(gains[0]));
}

static void load_model(const model &m, uint16_t *weights, tensor_file *file)
{
    for (uint32_t l = 0; l < m.s.layers; l++) {
        for (uint32_t op : { OP_QKV, OP_OUT, OP_GATE_UP, OP_DOWN }) {
            load_matrix(m, weights, file, op, l);
        }
        load_gains(m, weights, file, OP_QKV, l, NAME_NORM_1);
        load_gains(m, weights, file, OP_GATE_UP, l, NAME_NORM_2);
        file->forget();
    }
    load_matrix(m, weights, file, OP_HEAD, 0);
    load_gains(m, weights, file, OP_HEAD, m.s.layers, NAME_NORM);
    file->forget();
}

#endif /* SHPOOL_EXAMPLES_DECODE_SAFETENSORS_H */
