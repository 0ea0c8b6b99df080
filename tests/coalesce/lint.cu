// SPDX-License-Identifier: BSD-3-Clause
// What the lint is to say something about, and what not: lint.txt has its words.
struct particle {
    float x, y, z, vx, vy, vz, mass;
};

extern "C" __global__ void one_field(float *m, const particle *p, int n)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < n) {
        m[t] = p[t].mass;
    }
}

__device__ __forceinline__ float length(const particle &p)
{
    return p.x * p.x + p.y * p.y + p.z * p.z;
}

extern "C" __global__ void inlined(float *d, const particle *p, int n)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < n) {
        d[t] = length(p[t]);
    }
}

extern "C" __global__ void row_sums(float *d, const float *a, int rows, int columns)
{
    int   r   = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    if (r < rows) {
#pragma unroll 1
        for (int c = 0; c < columns; c++) {
            sum += a[r * columns + c];
        }
        d[r] = sum;
    }
}

extern "C" __global__ void gathered(float *d, const float *s, const int *index, int n)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < n) {
        d[t] = s[index[t]];
    }
}

extern "C" __global__ void transposed(float *d, const float *s, int n)
{
    __shared__ float tile[32][32];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    tile[threadIdx.y][threadIdx.x] = s[y * n + x];
    __syncthreads();
    d[(blockIdx.x * 32 + threadIdx.y) * n + blockIdx.y * 32 + threadIdx.x] =
        tile[threadIdx.x][threadIdx.y];
}

// One place, two equal findings.
extern "C" __global__ void gathered_twice(float *d, const float *s, const int *index, int n)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    d[t] = s[index[t]] + s[index[t + n]];
}

// Nothing is to be said about these.
extern "C" __global__ void by_one_thread(float *d, const particle *p, int n)
{
    if (threadIdx.x == 0) {
        d[7 * blockIdx.x] = p[n * blockIdx.x].vx;
    }
}

extern "C" __global__ void coalesced(float *d, const float4 *s, int n)
{
    __shared__ float4 a[256];
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < n) {
        a[threadIdx.x] = s[t];
        d[n - t] = a[threadIdx.x].y + s[0].x + s[blockIdx.x].z;
    }
}

// A stencil: neighbours are clamped at the borders, and the column is walked along.
extern "C" __global__ void clamped(float *d, const float *s, int nx, int ny, int nz)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int at = x + y * nx, plane = nx * ny;
    int west = (x == 0) ? at : at - 1, east = (x == nx - 1) ? at : at + 1;
    int north = (y == 0) ? at : at - nx, south = (y == ny - 1) ? at : at + nx;
    float below = s[at], here = s[at], above;

    for (int z = 1; z < nz; z++) {
        above = s[at + plane];
        d[at] = here + below + above + s[west] + s[east] + s[north] + s[south];
        below = here;
        here = above;
        at += plane, west += plane, east += plane, north += plane, south += plane;
    }
}
