package org.horovod4j;

/// The factors of a reduction. Each rank's values are multiplied by `prescale` before they are
/// reduced, and the result by `postscale`. Integers are scaled in double precision and truncate
/// toward zero.
public record Scale(double prescale, double postscale) {
    /// No scaling: both factors are 1.
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

    /// Scales before the reduction only.
    public static Scale before(double prescale) {
        return new Scale(prescale, 1.0);
    }

    /// Scales the result only.
    public static Scale after(double postscale) {
        return new Scale(1.0, postscale);
    }
}
