// Selects the values of the largest magnitudes.
//
// A radix search finds the least magnitude to select, digit by digit from the top, as TopKSelection
// of core does: the bits of a magnitude, read as an integer, have the order of the magnitudes. Then
// blocks of threads count what they select, and write it where the blocks before them end.
#include "elements.cuh"

#define MAX_DIGIT_BITS 11
#define MAX_DIGITS (1 << MAX_DIGIT_BITS)
#define THREADS 256

struct Selection {
    // The digits of the least magnitude found so far.
    u64 least;
    // How many of the values that share these digits are selected; at the end, how many that equal
    // `least`.
    u64 wanted;
};

// Starts the selection of the `wanted` largest. One block of threads.
extern "C" __global__ void hvd_topk_begin(Selection* selection, u64 wanted, u32* having) {
    for (u32 d = threadIdx.x; d < MAX_DIGITS; d += blockDim.x) having[d] = 0;
    if (threadIdx.x == 0) {
        selection->least = 0;
        selection->wanted = wanted;
    }
}

// All NaNs are equal, and above infinity.
__device__ inline u64 magnitude(float value) {
    return value != value ? 0x7fc00000u : (__float_as_uint(value) & 0x7fffffffu);
}

__device__ inline u64 magnitude(double value) {
    return value != value ? 0x7ff8000000000000ull
                          : ((u64) __double_as_longlong(value) & 0x7fffffffffffffffull);
}

// How many values have each digit of `bits` bits at `shift`, of those with the higher digits of
// `least`. `having` is zero before.
template <class T>
__device__ inline void countDigits(
        const T* values, u64 count, const Selection* selection, u32 shift, u32 bits, u32* having) {
    __shared__ u32 here[MAX_DIGITS];
    u32 digits = 1u << bits;
    for (u32 d = threadIdx.x; d < digits; d += blockDim.x) here[d] = 0;
    __syncthreads();
    u64 least = selection->least;
    u64 step = (u64) gridDim.x * blockDim.x;
    for (u64 i = (u64) blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
        u64 bitsOfValue = magnitude(values[i]);
        if (((bitsOfValue ^ least) >> shift >> bits) == 0) {
            atomicAdd(&here[(bitsOfValue >> shift) & (digits - 1)], 1u);
        }
    }
    __syncthreads();
    for (u32 d = threadIdx.x; d < digits; d += blockDim.x) {
        if (here[d] > 0) atomicAdd(&having[d], here[d]);
    }
}

// Finds the digit of the least magnitude, from the highest down, and sets `having` to zero. One
// block of threads.
extern "C" __global__ void hvd_topk_digit(Selection* selection, u32 shift, u32 bits, u32* having) {
    __shared__ u32 here[MAX_DIGITS];
    __shared__ u64 sums[THREADS];
    u32 digits = 1u << bits;
    for (u32 d = threadIdx.x; d < MAX_DIGITS; d += blockDim.x) {
        here[d] = d < digits ? having[d] : 0;
        if (d < digits) having[d] = 0;
    }
    __syncthreads();
    const u32 group = MAX_DIGITS / THREADS;
    u64 sum = 0;
    for (u32 d = 0; d < group; d++) sum += here[threadIdx.x * group + d];
    sums[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        u64 wanted = selection->wanted;
        int g = THREADS - 1;
        while (sums[g] < wanted) wanted -= sums[g--];
        int digit = g * group + group - 1;
        while (here[digit] < wanted) wanted -= here[digit--];
        selection->least |= (u64) digit << shift;
        selection->wanted = wanted;
    }
}

// The values of this block of threads: `chunk` of them, one after the other.
__device__ inline u64 firstOfBlock(u64 chunk) {
    return (u64) blockIdx.x * chunk;
}

// How many values of each block are above `least`, and how many equal it.
template <class T>
__device__ inline void tally(
        const T* values, u64 count, u64 chunk, const Selection* selection, u32* above, u32* equal) {
    __shared__ u32 blockAbove;
    __shared__ u32 blockEqual;
    if (threadIdx.x == 0) blockAbove = blockEqual = 0;
    __syncthreads();
    u64 least = selection->least;
    u64 end = min(firstOfBlock(chunk) + chunk, count);
    u32 a = 0;
    u32 e = 0;
    for (u64 i = firstOfBlock(chunk) + threadIdx.x; i < end; i += blockDim.x) {
        u64 bits = magnitude(values[i]);
        a += bits > least;
        e += bits == least;
    }
    atomicAdd(&blockAbove, a);
    atomicAdd(&blockEqual, e);
    __syncthreads();
    if (threadIdx.x == 0) {
        above[blockIdx.x] = blockAbove;
        equal[blockIdx.x] = blockEqual;
    }
}

// Replaces the counts of each block by those of the blocks before it. One thread.
extern "C" __global__ void hvd_topk_offsets(u32* above, u32* equal, u32 blocks) {
    u32 a = 0;
    u32 e = 0;
    for (u32 block = 0; block < blocks; block++) {
        u32 nextAbove = a + above[block];
        u32 nextEqual = e + equal[block];
        above[block] = a;
        equal[block] = e;
        a = nextAbove;
        e = nextEqual;
    }
}

// Writes positions and values in ascending order of positions; of equal values the first.
template <class T>
__device__ inline void write(
        const T* values, u64 count, u64 chunk, const Selection* selection, const u32* above,
        const u32* equal, s32* positions, T* selected) {
    // the counts of a warp: above in the lower half, equal in the upper
    __shared__ u32 warps[THREADS / 32];
    u64 least = selection->least;
    u64 wanted = selection->wanted;
    u64 aboveBefore = above[blockIdx.x];
    u64 equalBefore = equal[blockIdx.x];
    u32 lane = threadIdx.x % 32;
    u32 warp = threadIdx.x / 32;
    u32 lower = (1u << lane) - 1;
    u64 first = firstOfBlock(chunk);
    u64 end = min(first + chunk, count);
    for (u64 from = first; from < end; from += THREADS) {
        u64 i = from + threadIdx.x;
        T value = i < end ? values[i] : (T) 0;
        u64 bits = magnitude(value);
        bool isAbove = i < end && bits > least;
        bool isEqual = i < end && bits == least;
        u32 aboveVotes = __ballot_sync(0xffffffff, isAbove);
        u32 equalVotes = __ballot_sync(0xffffffff, isEqual);
        if (lane == 0) warps[warp] = __popc(aboveVotes) | (__popc(equalVotes) << 16);
        __syncthreads();
        u32 warpsBefore = 0;
        u32 total = 0;
        for (u32 w = 0; w < THREADS / 32; w++) {
            if (w < warp) warpsBefore += warps[w];
            total += warps[w];
        }
        __syncthreads();
        u64 aboveHere = aboveBefore + (warpsBefore & 0xffff) + __popc(aboveVotes & lower);
        u64 equalHere = equalBefore + (warpsBefore >> 16) + __popc(equalVotes & lower);
        if (isAbove || (isEqual && equalHere < wanted)) {
            u64 target = aboveHere + min(equalHere, wanted);
            positions[target] = (s32) i;
            selected[target] = value;
        }
        aboveBefore += total & 0xffff;
        equalBefore += total >> 16;
    }
}

// target = left + right
template <class T>
__device__ inline void add(const T* left, const T* right, T* target, u64 count) {
    u64 step = (u64) gridDim.x * blockDim.x;
    for (u64 i = (u64) blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
        target[i] = left[i] + right[i];
    }
}

// Adds values at positions, which all differ.
template <class T>
__device__ inline void addAt(T* target, const s32* positions, const T* values, u64 count) {
    u64 step = (u64) gridDim.x * blockDim.x;
    for (u64 i = (u64) blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
        target[positions[i]] += values[i];
    }
}

// Sets values at positions to zero.
template <class T>
__device__ inline void clearAt(T* target, const s32* positions, u64 count) {
    u64 step = (u64) gridDim.x * blockDim.x;
    for (u64 i = (u64) blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
        target[positions[i]] = (T) 0;
    }
}

// Sets infinities and NaNs to zero.
template <class T>
__device__ inline void clearNotFinite(T* values, u64 count) {
    u64 step = (u64) gridDim.x * blockDim.x;
    for (u64 i = (u64) blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
        if (!isfinite(values[i])) values[i] = (T) 0;
    }
}

// A quotient in double, rounded to float, is that of float arithmetic.
template <class T>
__device__ inline void divide(T* values, u64 count, u64 divisor) {
    u64 step = (u64) gridDim.x * blockDim.x;
    for (u64 i = (u64) blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
        values[i] = (T) ((double) values[i] / (double) divisor);
    }
}

#define TOPK(NAME, Type)                                                                      \
    extern "C" __global__ void hvd_topk_count_##NAME(                                         \
            const Type* values, u64 count, const Selection* selection, u32 shift, u32 bits,   \
            u32* having) {                                                                    \
        countDigits(values, count, selection, shift, bits, having);                           \
    }                                                                                         \
    extern "C" __global__ void hvd_topk_tally_##NAME(                                         \
            const Type* values, u64 count, u64 chunk, const Selection* selection, u32* above, \
            u32* equal) {                                                                     \
        tally(values, count, chunk, selection, above, equal);                                 \
    }                                                                                         \
    extern "C" __global__ void hvd_topk_write_##NAME(                                         \
            const Type* values, u64 count, u64 chunk, const Selection* selection,             \
            const u32* above, const u32* equal, s32* positions, Type* selected) {             \
        write(values, count, chunk, selection, above, equal, positions, selected);            \
    }                                                                                         \
    extern "C" __global__ void hvd_topk_add_##NAME(                                           \
            const Type* left, const Type* right, Type* target, u64 count) {                   \
        add(left, right, target, count);                                                      \
    }                                                                                         \
    extern "C" __global__ void hvd_topk_scatter_##NAME(                                       \
            Type* target, const s32* positions, const Type* values, u64 count) {              \
        addAt(target, positions, values, count);                                              \
    }                                                                                         \
    extern "C" __global__ void hvd_topk_clear_##NAME(                                         \
            Type* target, const s32* positions, u64 count) {                                  \
        clearAt(target, positions, count);                                                    \
    }                                                                                         \
    extern "C" __global__ void hvd_topk_finite_##NAME(Type* values, u64 count) {              \
        clearNotFinite(values, count);                                                        \
    }                                                                                         \
    extern "C" __global__ void hvd_topk_divide_##NAME(Type* values, u64 count, u64 divisor) { \
        divide(values, count, divisor);                                                       \
    }

TOPK(float32, float)
TOPK(float64, double)
