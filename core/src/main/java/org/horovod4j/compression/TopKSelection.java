package org.horovod4j.compression;

/// Finds the values of the largest magnitudes.
///
/// The bits of a magnitude, read as an integer, have the order of the magnitudes, with infinity and
/// then NaN at the top. So a radix search finds the least magnitude to select, from its highest bits
/// down: it counts the values by their next 16 bits and continues with those that share the bits of
/// the least, four times. Costs at most five passes and 256 KiB, and copies nothing.
final class TopKSelection {
    private static final int DIGIT_BITS = 16;
    private static final int DIGITS = 1 << DIGIT_BITS;

    private TopKSelection() {}

    /// The positions of the `count` largest magnitudes, ascending; of equal ones the first.
    static int[] select(DoubleView values, int count) {
        if (count == 0) {
            return new int[0];
        }
        long least = 0;
        int wanted = count; // how many of those that share the digits of `least` found so far
        for (int shift = Long.SIZE - DIGIT_BITS; shift >= 0; shift -= DIGIT_BITS) {
            int[] having = count(values, least, shift);
            int digit = DIGITS - 1;
            while (having[digit] < wanted) {
                wanted -= having[digit--];
            }
            least |= (long) digit << shift;
        }
        return positions(values, least, count, wanted);
    }

    /// How many values have each digit at `shift`, of those whose higher digits are those of
    /// `least`.
    private static int[] count(DoubleView values, long least, int shift) {
        int[] having = new int[DIGITS];
        for (int i = 0; i < values.count(); i++) {
            long magnitude = magnitude(values, i);
            // two shifts, because Java shifts by 64 bits like by 0
            if ((magnitude ^ least) >>> shift >>> DIGIT_BITS == 0) {
                having[(int) (magnitude >>> shift) & (DIGITS - 1)]++;
            }
        }
        return having;
    }

    /// @param ties how many of the values that equal `least` are among the largest
    private static int[] positions(DoubleView values, long least, int count, int ties) {
        int[] positions = new int[count];
        int found = 0;
        int left = ties;
        for (int i = 0; i < values.count() && found < count; i++) {
            long magnitude = magnitude(values, i);
            if (magnitude > least || (magnitude == least && left-- > 0)) {
                positions[found++] = i;
            }
        }
        return positions;
    }

    private static long magnitude(DoubleView values, int index) {
        return Double.doubleToLongBits(Math.abs(values.get(index)));
    }
}
