/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints the matrix of a file as examples/sparse reads it, zeros included, for sparse.sh. */
#include "examples/sparse/matrix.h"

int main(int argc, char **argv)
{
    const char       *path = (argc > 1) ? argv[1] : "";
    matrix            m;
    const std::string wrong = read_matrix(path, &m);

    if (!wrong.empty()) {
        machine_fail(path, wrong.c_str());
    }
    for (uint32_t r = 0; r < m.rows; r++) {
        std::vector<float> row(m.columns, 0.0f);

        for (uint32_t i = m.begin[r]; i < m.begin[r + 1u]; i++) {
            row[m.column[i]] += m.value[i];
        }
        for (uint32_t column = 0; column < m.columns; column++) {
            std::printf("%s%g", (column > 0) ? " " : "", static_cast<double>(row[column]));
        }
        std::printf("\n");
    }
    return 0;
}
