// The data types of tensors: how an element is read, combined, scaled and written.
//
// The arithmetic is that of the CPU kernels in core (org.horovod4j.collectives.kernel), so that a
// tensor gets the same bits wherever it is reduced.
#pragma once

typedef unsigned char u8;
typedef signed char s8;
typedef unsigned short u16;
typedef short s16;
typedef int s32;
typedef unsigned int u32;
typedef long long s64;
typedef unsigned long long u64;

// The ordinals of org.horovod4j.ReduceOp.
enum ReduceOp { AVERAGE, SUM, MIN, MAX, PRODUCT };

// MIN and MAX of floats: a NaN wins, and -0.0 is less than 0.0, as in Java's Math.min.
template <class F>
__device__ inline F lesser(F a, F b) {
    if (a != a) return a;
    if (b != b) return b;
    if (a == b) return signbit(a) ? a : b;
    return a < b ? a : b;
}

template <class F>
__device__ inline F greater(F a, F b) {
    if (a != a) return a;
    if (b != b) return b;
    if (a == b) return signbit(a) ? b : a;
    return a > b ? a : b;
}

// Integers wrap around in sums and products. A scaled one is truncated toward zero and clamped.
template <class T, s64 LEAST, s64 GREATEST>
struct Integer {
    typedef T Storage;
    typedef T Value;

    __device__ static Value load(Storage stored) { return stored; }
    __device__ static Storage store(Value value) { return value; }
    __device__ static Value clamp(s64 value) {
        return (Value) (value < LEAST ? LEAST : value > GREATEST ? GREATEST : value);
    }
    __device__ static Value scaled(Value value, double factor) {
        return clamp((s64) ((double) value * factor));
    }
    __device__ static Value divided(Value value, s64 divisor) { return (Value) ((s64) value / divisor); }
    __device__ static Value combine(int op, Value a, Value b) {
        switch (op) {
            case MIN: return a < b ? a : b;
            case MAX: return a > b ? a : b;
            // unsigned, because overflow of a signed type is undefined
            case PRODUCT: return (Value) ((u64) a * (u64) b);
            default: return (Value) ((u64) a + (u64) b);
        }
    }
};

typedef Integer<u8, 0, 255> Uint8;
typedef Integer<s8, -128, 127> Int8;
typedef Integer<u16, 0, 65535> Uint16;
typedef Integer<s16, -32768, 32767> Int16;
typedef Integer<s32, -2147483647 - 1, 2147483647> Int32;
typedef Integer<s64, -9223372036854775807LL - 1, 9223372036854775807LL> Int64;

struct Bool {
    typedef u8 Storage;
    typedef u8 Value;

    __device__ static Value load(Storage stored) { return stored; }
    __device__ static Storage store(Value value) { return value; }
    // core rejects scaled and averaged bools
    __device__ static Value scaled(Value value, double) { return value; }
    __device__ static Value divided(Value value, s64) { return value; }
    __device__ static Value combine(int op, Value a, Value b) {
        return op == MIN || op == PRODUCT ? (a && b) : (a || b);
    }
};

template <class F>
struct Real {
    typedef F Storage;
    typedef F Value;

    __device__ static Value load(Storage stored) { return stored; }
    __device__ static Storage store(Value value) { return value; }
    __device__ static Value scaled(Value value, double factor) { return value * (F) factor; }
    __device__ static Value divided(Value value, s64 divisor) { return value / (F) divisor; }
    __device__ static Value combine(int op, Value a, Value b) {
        switch (op) {
            case MIN: return lesser(a, b);
            case MAX: return greater(a, b);
            case PRODUCT: return a * b;
            default: return a + b;
        }
    }
};

typedef Real<float> Float32;
typedef Real<double> Float64;

// Two-byte floats are combined as float, and rounded once at the end.
struct Float16 : Real<float> {
    typedef u16 Storage;

    __device__ static float load(u16 stored) {
        float value;
        asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(stored));
        return value;
    }
    __device__ static u16 store(float value) {
        u16 stored;
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(stored) : "f"(value));
        return stored;
    }
};

struct BFloat16 : Real<float> {
    typedef u16 Storage;

    __device__ static float load(u16 stored) { return __uint_as_float((u32) stored << 16); }
    // to nearest, ties to even; by hand, since GPUs have an instruction for it from sm_80 on
    __device__ static u16 store(float value) {
        u32 bits = __float_as_uint(value);
        if (value != value) return (u16) ((bits >> 16) | 0x40);
        return (u16) ((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
    }
};

// 16 bytes, which a thread reads and writes at once.
struct alignas(16) Quad {
    u32 words[4];
};
