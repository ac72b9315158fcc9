package org.horovod4j.examples;

import java.util.SplittableRandom;

/// Augmentation: shifts an image by up to two pixels in each direction, another way in each epoch.
///
/// The shift follows from the epoch and the number of the image. So it does not depend on the rank and
/// the thread that read the image, and a training can be repeated. (Threads that share one random
/// generator take its numbers in an order that changes from run to run.)
final class RandomShift {
    static final int MOST = 2;

    private static final int SIDE = 28;

    private RandomShift() {}

    /// A shifted copy of an image. Pixels that come from outside are 0.
    ///
    /// @param pixels the image, row by row
    static float[] apply(float[] pixels, int epoch, long image) {
        SplittableRandom random = new SplittableRandom(((long) epoch << 40) + image);
        int down = random.nextInt(-MOST, MOST + 1);
        int right = random.nextInt(-MOST, MOST + 1);
        float[] shifted = new float[pixels.length];
        for (int row = Math.max(0, down); row < Math.min(SIDE, SIDE + down); row++) {
            System.arraycopy(
                    pixels,
                    (row - down) * SIDE + Math.max(0, -right),
                    shifted,
                    row * SIDE + Math.max(0, right),
                    SIDE - Math.abs(right));
        }
        return shifted;
    }
}
