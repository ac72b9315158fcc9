package org.horovod4j.runtime.autotune;

import org.horovod4j.spi.Tuning;

import java.util.SplittableRandom;

/// The factor by which each step of a simulated machine takes longer.
interface StepDelays {
    double next(Tuning tuning, SplittableRandom random);

    /// Steps vary by 5 %, and one in ten takes three times as long.
    static StepDelays calm() {
        return (_, random) ->
                Math.exp(0.05 * random.nextGaussian()) * (random.nextInt(10) == 0 ? 3 : 1);
    }

    /// A machine with other load: steps vary by 10 %, and sometimes about forty in a row take a
    /// third longer.
    static StepDelays busy() {
        return new StepDelays() {
            private int left;

            @Override
            public double next(Tuning tuning, SplittableRandom random) {
                if (left > 0) {
                    left--;
                } else if (random.nextInt(120) == 0) {
                    left = random.nextInt(10, 70);
                }
                return Math.exp(0.1 * random.nextGaussian()) * (left > 0 ? 1.33 : 1);
            }
        };
    }

    /// The defaults run evenly. With any other tuning three steps in ten are slow, which the median
    /// does not show.
    static StepDelays stumbling() {
        return (tuning, random) ->
                Math.exp(0.02 * random.nextGaussian())
                        * (!tuning.equals(Tuning.DEFAULT) && random.nextInt(10) < 3 ? 3 : 1);
    }
}
