package org.horovod4j.testing;

import org.assertj.core.api.AbstractAssert;
import org.horovod4j.Tensor;

/// Compares a tensor with the expected one, and names the first element that differs.
public final class TensorAssert extends AbstractAssert<TensorAssert, Tensor> {
    private TensorAssert(Tensor actual) {
        super(actual, TensorAssert.class);
    }

    public static TensorAssert assertThat(Tensor actual) {
        return new TensorAssert(actual);
    }

    /// Checks that type, shape and every bit equal those of `expected`.
    public TensorAssert isBitwiseEqualTo(Tensor expected) {
        isLike(expected);
        long difference = actual.segment().mismatch(expected.segment());
        if (difference >= 0) {
            fail(expected, Math.toIntExact(difference / actual.dataType().byteSize()));
        }
        return this;
    }

    /// Checks that type and shape equal those of `expected`, and that elements differ by at most
    /// `tolerance`.
    public TensorAssert isWithin(double tolerance, Tensor expected) {
        isLike(expected);
        Elements found = Elements.of(actual);
        Elements expectedElements = Elements.of(expected);
        for (int i = 0; i < found.count(); i++) {
            double distance = found.real(i) - expectedElements.real(i);
            if (!(Math.abs(distance) <= tolerance)) {
                fail(expected, i);
            }
        }
        return this;
    }

    private void isLike(Tensor expected) {
        if (actual.dataType() != expected.dataType() || !actual.shape().equals(expected.shape())) {
            failWithMessage("expected %s but was %s", expected, actual);
        }
    }

    private void fail(Tensor expected, int element) {
        failWithMessage(
                "expected element %d of %s to be %s but it was %s",
                element,
                actual,
                Elements.of(expected).real(element),
                Elements.of(actual).real(element));
    }
}
