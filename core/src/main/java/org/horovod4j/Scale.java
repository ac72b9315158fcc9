package org.horovod4j;

/// Factors around a reduction: each rank's values are multiplied by `prescale` before they are
/// reduced, the result by `postscale` afterwards. Integers are scaled in double precision and
/// truncate toward zero.
public record Scale(double prescale, double postscale) {
    public static final Scale NONE = new Scale(1.0, 1.0);

    public Scale {
        if (!Double.isFinite(prescale) || !Double.isFinite(postscale)) {
            throw new IllegalArgumentException(
                    "scale factors must be finite: prescale "
                            + prescale
                            + ", postscale "
                            + postscale);
        }
    }

    public static Scale before(double prescale) {
        return new Scale(prescale, 1.0);
    }

    public static Scale after(double postscale) {
        return new Scale(1.0, postscale);
    }
}
