// Copies of many tensors in one launch: packs them into a fused array, unpacks them, and scales and
// converts elements on the way.
#include "elements.cuh"

// Kernel parameters have at most 4 KiB, so no table has to be copied to the device first.
#define MAX_COPIES 144

// The elements of one block of threads.
#define CHUNK 16384

struct Copies {
    const void* source[MAX_COPIES];
    void* target[MAX_COPIES];
    u64 elements[MAX_COPIES];
    // The first block of each copy, in increasing order.
    u32 firstBlock[MAX_COPIES];
    u32 count;
};

// The copy that this block of threads works on: the last one whose first block is not after it.
__device__ inline u32 copyOfBlock(const Copies& copies) {
    u32 low = 0;
    u32 high = copies.count;
    while (high - low > 1) {
        u32 middle = (low + high) / 2;
        if (copies.firstBlock[middle] <= blockIdx.x) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

template <class T>
__device__ inline void copyPart(const void* source, void* target, u64 first, u64 end) {
    const T* from = (const T*) source;
    T* to = (T*) target;
    u64 i = first + threadIdx.x;
    // four loads before the first store keep more memory requests in flight
    for (; i + 3 * blockDim.x < end; i += 4 * blockDim.x) {
        T a = from[i];
        T b = from[i + blockDim.x];
        T c = from[i + 2 * blockDim.x];
        T d = from[i + 3 * blockDim.x];
        to[i] = a;
        to[i + blockDim.x] = b;
        to[i + 2 * blockDim.x] = c;
        to[i + 3 * blockDim.x] = d;
    }
    for (; i < end; i += blockDim.x) {
        to[i] = from[i];
    }
}

// Elements are bytes. A block copies four chunks, as a byte is the smallest element.
extern "C" __global__ void hvd_copy_bytes(const Copies copies, double) {
    const u64 chunk = 4 * CHUNK;
    u32 copy = copyOfBlock(copies);
    u64 first = (u64) (blockIdx.x - copies.firstBlock[copy]) * chunk;
    u64 end = min(first + chunk, copies.elements[copy]);
    const void* source = copies.source[copy];
    void* target = copies.target[copy];
    u64 alignment = (u64) source | (u64) target;
    u64 whole = first;
    if (alignment % 16 == 0) {
        whole = end / 16 * 16;
        copyPart<Quad>(source, target, first / 16, end / 16);
    } else if (alignment % 4 == 0) {
        whole = end / 4 * 4;
        copyPart<u32>(source, target, first / 4, end / 4);
    } else if (alignment % 2 == 0) {
        whole = end / 2 * 2;
        copyPart<u16>(source, target, first / 2, end / 2);
    }
    copyPart<u8>(source, target, whole, end);
}

// Multiplies by `factor` in the type of the source, and rounds to the type of the target.
template <class From, class To>
__device__ inline void convert(const Copies& copies, double factor) {
    u32 copy = copyOfBlock(copies);
    u64 first = (u64) (blockIdx.x - copies.firstBlock[copy]) * CHUNK;
    u64 end = min(first + CHUNK, copies.elements[copy]);
    const typename From::Storage* from = (const typename From::Storage*) copies.source[copy];
    typename To::Storage* to = (typename To::Storage*) copies.target[copy];
    for (u64 i = first + threadIdx.x; i < end; i += blockDim.x) {
        typename From::Value value = From::load(from[i]);
        if (factor != 1.0) {
            value = From::scaled(value, factor);
        }
        to[i] = To::store((typename To::Value) value);
    }
}

#define CONVERT(FROM, From, TO, To)                                                              \
    extern "C" __global__ void hvd_convert_##FROM##_##TO(const Copies copies, double factor) {   \
        convert<From, To>(copies, factor);                                                       \
    }

CONVERT(float32, Float32, float16, Float16)
CONVERT(float32, Float32, bfloat16, BFloat16)
CONVERT(float64, Float64, float16, Float16)
CONVERT(float64, Float64, bfloat16, BFloat16)
CONVERT(float16, Float16, float32, Float32)
CONVERT(bfloat16, BFloat16, float32, Float32)
CONVERT(float16, Float16, float64, Float64)
CONVERT(bfloat16, BFloat16, float64, Float64)

CONVERT(uint8, Uint8, uint8, Uint8)
CONVERT(int8, Int8, int8, Int8)
CONVERT(uint16, Uint16, uint16, Uint16)
CONVERT(int16, Int16, int16, Int16)
CONVERT(int32, Int32, int32, Int32)
CONVERT(int64, Int64, int64, Int64)
CONVERT(float16, Float16, float16, Float16)
CONVERT(bfloat16, BFloat16, bfloat16, BFloat16)
CONVERT(float32, Float32, float32, Float32)
CONVERT(float64, Float64, float64, Float64)

template <class T>
__device__ inline void fill(void* target, u64 count, u64 value) {
    u64 step = (u64) gridDim.x * blockDim.x;
    for (u64 i = (u64) blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
        ((T*) target)[i] = (T) value;
    }
}

// Sets elements of 1, 2, 4 or 8 bytes to the low bytes of `value`.
extern "C" __global__ void hvd_fill(void* target, u64 count, u64 value, u32 elementBytes) {
    switch (elementBytes) {
        case 1: fill<u8>(target, count, value); break;
        case 2: fill<u16>(target, count, value); break;
        case 4: fill<u32>(target, count, value); break;
        default: fill<u64>(target, count, value); break;
    }
}
