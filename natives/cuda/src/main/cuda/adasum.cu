// Adasum of two vectors: dot products, and the combination by their weights.
//
// The sums are those of AdasumKernel in core, number by number: eight sums within a block of 2048
// elements, and the sum of blocks in order. So CPU and GPU get the same bits.
#include "elements.cuh"

// AdasumKernel.BLOCK
#define BLOCK 2048

// DotLoops.LANES: element i of a block belongs to sum i % LANES
#define LANES 8

// DotProducts.STEP: the exponents in a range
#define STEP 510

// DotProducts: three products, and the ranges of both vectors
struct Products {
    double dot;
    double left;
    double right;
    double leftRange;
    double rightRange;
};

__device__ inline double power(int exponent) {
    return exponent < -1022 ? 0.0 : __longlong_as_double((s64) (exponent + 1023) << 52);
}

// value * 2^(STEP ranges), for ranges from -8 to 8
__device__ __noinline__ double inRange(double value, int ranges) {
    for (; ranges > 0; ranges--) value *= power(STEP);
    for (; ranges < 0; ranges++) value *= power(-STEP);
    return value;
}

__device__ inline int rangeOf(double largest) {
    int exponent = (int) ((__double_as_longlong(largest) >> 52) & 0x7ff) - 1023;
    int shifted = exponent + STEP / 2;
    return shifted >= 0 ? shifted / STEP : -((-shifted + STEP - 1) / STEP);
}

__device__ inline bool isSafe(double square) {
    return square >= 0x1p-500 && square <= 0x1p500;
}

template <class E>
__device__ inline double elementAt(const void* values, u64 index) {
    return (double) E::load(((const typename E::Storage*) values)[index]);
}

// A sum of one lane and one product, for one block.
template <class E>
__device__ inline double laneSum(
        const void* left, const void* right, u64 first, u32 count, double leftFactor,
        double rightFactor, u32 product, u32 lane) {
    double sum = 0;
    for (u32 i = lane; i < count; i += LANES) {
        double a = __dmul_rn(elementAt<E>(left, first + i), leftFactor);
        double b = __dmul_rn(elementAt<E>(right, first + i), rightFactor);
        double term = product == 0 ? __dmul_rn(a, b) : product == 1 ? __dmul_rn(a, a) : __dmul_rn(b, b);
        sum = __dadd_rn(sum, term);
    }
    return sum;
}

// The sum of the eight lanes of `product`; every thread of the warp gets it.
__device__ inline double sumOfLanes(double laneSum, u32 product) {
    double sum = 0;
    for (u32 lane = 0; lane < LANES; lane++) {
        sum = __dadd_rn(sum, __shfl_sync(0xffffffff, laneSum, product * LANES + lane));
    }
    return sum;
}

// The largest magnitude of a block, NaN if there is one; every thread of the warp gets it.
template <class E>
__device__ inline double largest(const void* values, u64 first, u32 count) {
    double most = 0;
#pragma unroll 1
    for (u32 i = threadIdx.x % 32; i < count; i += 32) {
        most = greater(most, fabs(elementAt<E>(values, first + i)));
    }
    for (int distance = 16; distance > 0; distance /= 2) {
        most = greater(most, __shfl_xor_sync(0xffffffff, most, distance));
    }
    return most;
}

// A warp calculates the products of one block.
template <class E>
__device__ inline void products(
        const void* left, const void* right, u64 elements, Products* blocks, bool wide) {
    u64 block = (u64) blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    u64 first = block * BLOCK;
    if (first >= elements) return;
    u32 count = (u32) min((u64) BLOCK, elements - first);
    u32 thread = threadIdx.x % 32;
    u32 product = min(thread / LANES, 2u);
    u32 lane = thread % LANES;
    double sum = laneSum<E>(left, right, first, count, 1, 1, product, lane);
    Products result = {sumOfLanes(sum, 0), sumOfLanes(sum, 1), sumOfLanes(sum, 2), 0, 0};
    if (wide && !(isSafe(result.left) && isSafe(result.right))) {
        int leftRange = rangeOf(largest<E>(left, first, count));
        int rightRange = rangeOf(largest<E>(right, first, count));
        sum = laneSum<E>(left, right, first, count, inRange(1, -leftRange), inRange(1, -rightRange),
                product, lane);
        result.dot = sumOfLanes(sum, 0);
        result.left = sumOfLanes(sum, 1);
        result.right = sumOfLanes(sum, 2);
        result.leftRange = leftRange;
        result.rightRange = rightRange;
    }
    if (thread == 0) blocks[block] = result;
}

// The products of all blocks, in order. One thread.
extern "C" __global__ void hvd_adasum_sum(const Products* blocks, u64 count, Products* total) {
    double lowest = rangeOf(0);
    Products sum = {0, 0, 0, lowest, lowest};
    for (u64 i = 0; i < count; i++) {
        Products next = blocks[i];
        double l = fmax(sum.leftRange, next.leftRange);
        double r = fmax(sum.rightRange, next.rightRange);
        sum.dot = __dadd_rn(
                inRange(sum.dot, (int) (sum.leftRange - l + sum.rightRange - r)),
                inRange(next.dot, (int) (next.leftRange - l + next.rightRange - r)));
        sum.left = __dadd_rn(inRange(sum.left, (int) (2 * (sum.leftRange - l))),
                inRange(next.left, (int) (2 * (next.leftRange - l))));
        sum.right = __dadd_rn(inRange(sum.right, (int) (2 * (sum.rightRange - r))),
                inRange(next.right, (int) (2 * (next.rightRange - r))));
        sum.leftRange = l;
        sum.rightRange = r;
    }
    *total = sum;
}

__device__ inline double halfProjection(double dot, double square) {
    const double negligible = 0x1p-511; // the root of the least normal number
    return square < negligible ? 0 : __ddiv_rn(dot, __dmul_rn(2, square));
}

// target = left + right, each with the weight that follows from `total`.
template <class E>
__device__ inline void combine(
        void* target, const void* left, const void* right, u64 elements, const Products* total) {
    int leftRange = (int) total->leftRange;
    int rightRange = (int) total->rightRange;
    int top = max(leftRange, rightRange);
    double leftUnit = inRange(1, leftRange - top);
    double rightUnit = inRange(1, rightRange - top);
    double leftWeight = __dsub_rn(leftUnit, __dmul_rn(halfProjection(total->dot, total->left), rightUnit));
    double rightWeight = __dsub_rn(rightUnit, __dmul_rn(halfProjection(total->dot, total->right), leftUnit));
    double leftFactor = inRange(1, -leftRange);
    double rightFactor = inRange(1, -rightRange);
    double unit = inRange(1, top);
    u64 step = (u64) gridDim.x * blockDim.x;
#pragma unroll 1
    for (u64 i = (u64) blockIdx.x * blockDim.x + threadIdx.x; i < elements; i += step) {
        // the factors are powers of two, so they change nothing where they are 1
        double a = __dmul_rn(leftWeight, __dmul_rn(leftFactor, elementAt<E>(left, i)));
        double b = __dmul_rn(rightWeight, __dmul_rn(rightFactor, elementAt<E>(right, i)));
        double sum = __dmul_rn(unit, __dadd_rn(a, b));
        ((typename E::Storage*) target)[i] = E::store((typename E::Value) sum);
    }
}

#define ADASUM(NAME, Element, WIDE)                                                           \
    extern "C" __global__ void hvd_adasum_products_##NAME(                                    \
            const void* left, const void* right, u64 elements, Products* blocks) {            \
        products<Element>(left, right, elements, blocks, WIDE);                               \
    }                                                                                         \
    extern "C" __global__ void hvd_adasum_combine_##NAME(                                     \
            void* target, const void* left, const void* right, u64 elements,                  \
            const Products* total) {                                                          \
        combine<Element>(target, left, right, elements, total);                               \
    }

ADASUM(float16, Float16, false)
ADASUM(bfloat16, BFloat16, false)
ADASUM(float32, Float32, false)
ADASUM(float64, Float64, true)
