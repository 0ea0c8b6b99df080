// SPDX-License-Identifier: BSD-3-Clause
// Accesses that the lint must report, and others that it must not; lint.txt has its output.
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

// The lint must not report these.
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

// An index divided by the number of columns: x and y of an image, by constants and by parameters.
extern "C" __global__ void divided(float *d, const float *s, int columns, int w)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    d[t] = s[t / columns * w + t % columns] + s[t / 100 * w + t % 100] +
           s[(unsigned)t / 640 * w + (unsigned)t % 640] + s[(t & -64) | (threadIdx.x & 63)];
}

// blockIdx.y and blockIdx.z times other sizes: more factors than a form has, and a pitch at last.
extern "C" __global__ void volume(float *d, const float *s, int w, int h, int n)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z;
    int t = (blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x;
    d[(z * h + y) * w + x] = s[((z * h + y) * w + x) * 5];
    d[t * n] = 0;
}

// All fields are used, though each branch has its own.
extern "C" __global__ void in_branches(float *d, const particle *p, int n)
{
    int   t = blockIdx.x * blockDim.x + threadIdx.x;
    float r = p[t].x + p[t].y + p[t].z;
    if (r > 0) {
        r += p[t].vx + p[t].vy;
    } else {
        d[n + t] = p[t].mass + p[t].vz;
    }
    d[t] = r;
}

// Half a warp: the bound says so.
extern "C" __global__ __launch_bounds__(16) void half_a_warp(float *d, const particle *p)
{
    d[threadIdx.x] = p[threadIdx.x].mass;
}

// As `clamped`, with a last plane after the loop: nvcc gives its index a value on every path.
extern "C" __global__ void last_plane(const float *p, const float *s, float *d, int nx, int ny,
                                      int nz)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int at = x + y * nx, plane = nx * ny;
    int west = (x == 0) ? at : at - 1, east = (x == nx - 1) ? at : at + 1;
    int north = (y == 0) ? at : at - nx, south = (y == ny - 1) ? at : at + nx;
    float below = s[at], here = s[at], above = s[at + plane];

    d[at] = here + s[west] + s[east] + s[south] + s[north] + below + above + p[at];
    at += plane, west += plane, east += plane, north += plane, south += plane;
    for (int z = 1; z < nz - 1; z++) {
        below = here, here = above, above = s[at + plane];
        d[at] = here + s[west] + s[east] + s[south] + s[north] + below + above + p[at];
        at += plane, west += plane, east += plane, north += plane, south += plane;
    }
    below = here, here = above;
    d[at] = here + s[west] + s[east] + s[south] + s[north] + below + above + p[at];
}

// Each warp walks along a row of its own.
extern "C" __global__ void row_of_a_warp(float *d, const float *a, int columns)
{
    int   row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    float sum = 0;
    for (int c = lane; c < columns; c += 32) {
        sum += a[row * columns + c];
    }
    d[row * 32 + lane] = sum;
}

// A block of 16 x 16: rows of a run-time length and a margin, and a value for each row.
extern "C" __global__ void tile16(float *d, const float *s, int n)
{
    int row = blockIdx.y * 16 + threadIdx.y;
    d[(n + 1) * row + threadIdx.x] = s[(n + 1) * row + threadIdx.x + 1] + s[n * row];
}

// A table of 1,024 floats, which a loop reads in turn.
extern "C" __global__ void masked(float *d, const float *s, int n)
{
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        d[i] = s[i & 1023];
    }
}

// Columns of a tile of 16 x 16, to be reported.
extern "C" __global__ __launch_bounds__(16) void columns16(float *d, const float *s)
{
    __shared__ float tile[16][16];
#pragma unroll 1
    for (int i = 0; i < 16; i++) {
        tile[threadIdx.x][i] = s[16 * i + threadIdx.x];
    }
    d[threadIdx.x] = tile[0][threadIdx.x] + tile[15][15 - threadIdx.x];
}

// A search: after the first step lanes are at places that depend on what they have loaded.
extern "C" __global__ void searched(float *d, const float *s, const float *table)
{
    int   t = blockIdx.x * blockDim.x + threadIdx.x, at = 64;
    float x = s[t];
    for (int jump = 32; jump > 0; jump /= 2) {
        at = (x < table[at]) ? at - jump : at + jump;
    }
    d[t] = table[at];
}
