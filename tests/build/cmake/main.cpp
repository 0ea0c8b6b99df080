// SPDX-License-Identifier: BSD-3-Clause
// Calls a function of a library that has kernels, and knows nothing of CUDA.
extern "C" int FUNCTION(void);
int main()
{
    return FUNCTION();
}
