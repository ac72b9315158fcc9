// Reduces arrays of several ranks into one, with the scaling before and after. With one source it
// scales or divides that source alone.
#include "elements.cuh"

#define MAX_SOURCES 64

// In the order of ranks.
struct Sources {
    const void* at[MAX_SOURCES];
    u32 count;
};

struct Reduction {
    double prescale;
    double postscale;
    s64 divisor;
    s32 op;
    s32 unused;
};

template <class E>
__device__ inline typename E::Storage scaled(typename E::Storage value, double factor) {
    return E::store(E::scaled(E::load(value), factor));
}

// What follows the reduction of one element. Each step rounds to the stored type, as on the CPU.
template <class E>
__device__ inline typename E::Storage finished(typename E::Storage value, const Reduction& reduction) {
    if (reduction.op == AVERAGE && reduction.divisor > 1) {
        value = E::store(E::divided(E::load(value), reduction.divisor));
    }
    return reduction.postscale == 1.0 ? value : scaled<E>(value, reduction.postscale);
}

// Elements without a wider type for averages.
template <class E>
struct Same {
    typedef E Wide;
    __device__ static typename E::Storage widen(typename E::Storage value) { return value; }
    __device__ static typename E::Storage narrow(typename E::Storage value) { return value; }
};

// Averages of small integers: the sum may not fit in their own type.
template <class E, class W>
struct Wider {
    typedef W Wide;
    __device__ static typename W::Storage widen(typename E::Storage value) { return value; }
    __device__ static typename E::Storage narrow(typename W::Storage value) { return E::clamp(value); }
};

// COUNT elements at a time, stored together as one `Pack`.
template <class E, class Width, class Pack, int COUNT>
__device__ inline void reducePacks(
        void* target, const Sources& sources, u64 first, u64 end, const Reduction& reduction) {
    typedef typename Width::Wide W;
    union Elements {
        Pack pack;
        typename E::Storage at[COUNT];
        __device__ Elements() {}
    };
    u64 step = (u64) gridDim.x * blockDim.x;
    for (u64 i = first + (u64) blockIdx.x * blockDim.x + threadIdx.x; i < end; i += step) {
        typename W::Value sum[COUNT];
        Elements elements;
#pragma unroll 1
        for (u32 k = 0; k < sources.count; k++) {
            elements.pack = ((const Pack*) sources.at[k])[i];
#pragma unroll
            for (int e = 0; e < COUNT; e++) {
                typename W::Storage stored = Width::widen(elements.at[e]);
                if (reduction.prescale != 1.0) {
                    stored = scaled<W>(stored, reduction.prescale);
                }
                typename W::Value value = W::load(stored);
                sum[e] = k == 0 ? value : W::combine(reduction.op, sum[e], value);
            }
        }
#pragma unroll
        for (int e = 0; e < COUNT; e++) {
            elements.at[e] = Width::narrow(finished<W>(W::store(sum[e]), reduction));
        }
        ((Pack*) target)[i] = elements.pack;
    }
}

// What a thread reads at once: four elements, or two of eight bytes. More would make the unrolled
// code large, and the driver compiles it when a program starts.
template <int ELEMENT_BYTES> struct PackOf;
template <> struct PackOf<1> { typedef u32 Pack; };
template <> struct PackOf<2> { typedef u64 Pack; };
template <> struct PackOf<4> { typedef Quad Pack; };
template <> struct PackOf<8> { typedef Quad Pack; };

template <class E, class Width>
__device__ inline void reduceAll(
        void* target, const Sources& sources, u64 count, const Reduction& reduction) {
    typedef typename E::Storage Storage;
    typedef typename PackOf<sizeof(Storage)>::Pack Pack;
    const int perPack = sizeof(Pack) / sizeof(Storage);
    u64 alignment = (u64) target;
#pragma unroll 1
    for (u32 k = 0; k < sources.count; k++) {
        alignment |= (u64) sources.at[k];
    }
    u64 packs = alignment % sizeof(Pack) == 0 ? count / perPack : 0;
    reducePacks<E, Width, Pack, perPack>(target, sources, 0, packs, reduction);
    reducePacks<E, Width, Storage, 1>(target, sources, packs * perPack, count, reduction);
}

#define REDUCE(NAME, Element, Wider)                                                          \
    extern "C" __global__ void hvd_reduce_##NAME(                                             \
            void* target, const Sources sources, u64 count, const Reduction reduction) {      \
        if (reduction.op == AVERAGE) {                                                        \
            reduceAll<Element, Wider>(target, sources, count, reduction);                     \
        } else {                                                                              \
            reduceAll<Element, Same<Element>>(target, sources, count, reduction);             \
        }                                                                                     \
    }

typedef Wider<Uint8, Int32> WideUint8;
typedef Wider<Int8, Int32> WideInt8;
typedef Wider<Uint16, Int32> WideUint16;
typedef Wider<Int16, Int32> WideInt16;
typedef Wider<Int32, Int64> WideInt32;

REDUCE(uint8, Uint8, WideUint8)
REDUCE(int8, Int8, WideInt8)
REDUCE(uint16, Uint16, WideUint16)
REDUCE(int16, Int16, WideInt16)
REDUCE(int32, Int32, WideInt32)
REDUCE(int64, Int64, Same<Int64>)
REDUCE(float16, Float16, Same<Float16>)
REDUCE(bfloat16, BFloat16, Same<BFloat16>)
REDUCE(float32, Float32, Same<Float32>)
REDUCE(float64, Float64, Same<Float64>)
REDUCE(bool, Bool, Same<Bool>)
