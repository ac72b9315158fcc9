package org.horovod4j.collectives.kernel;

import org.horovod4j.ReduceOp;

/// Arithmetic on two-byte floats after they were widened to `float`.
///
/// The compiler vectorizes these loops over heap arrays. Each loop is a separate method, so that it
/// has its own profile.
final class FloatArrays {
    private FloatArrays() {}

    /// `results[i] = results[i] op terms[i]` for the first `count` elements.
    static void combine(ReduceOp op, float[] results, float[] terms, int count) {
        switch (op) {
            case SUM, AVERAGE -> sum(results, terms, count);
            case PRODUCT -> product(results, terms, count);
            case MIN -> min(results, terms, count);
            case MAX -> max(results, terms, count);
            case ADASUM -> throw KernelLoop.unsupported(op);
        }
    }

    private static void sum(float[] results, float[] terms, int count) {
        for (int i = 0; i < count; i++) {
            results[i] += terms[i];
        }
    }

    private static void product(float[] results, float[] terms, int count) {
        for (int i = 0; i < count; i++) {
            results[i] *= terms[i];
        }
    }

    private static void min(float[] results, float[] terms, int count) {
        for (int i = 0; i < count; i++) {
            results[i] = Math.min(results[i], terms[i]);
        }
    }

    private static void max(float[] results, float[] terms, int count) {
        for (int i = 0; i < count; i++) {
            results[i] = Math.max(results[i], terms[i]);
        }
    }

    static void multiply(float[] values, float factor, int count) {
        for (int i = 0; i < count; i++) {
            values[i] *= factor;
        }
    }

    static void divide(float[] values, float divisor, int count) {
        for (int i = 0; i < count; i++) {
            values[i] /= divisor;
        }
    }
}
