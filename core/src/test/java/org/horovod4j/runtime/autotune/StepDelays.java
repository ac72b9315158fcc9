package org.horovod4j.runtime.autotune;

import org.horovod4j.spi.Tuning;

import java.util.SplittableRandom;

/// By which factor each step of a made-up machine takes longer than it should.
interface StepDelays {
    double next(Tuning tuning, SplittableRandom random);

    /// Steps vary by a twentieth, and one in ten takes thrice its time.
    static StepDelays calm() {
        return (_, random) ->
                Math.exp(0.05 * random.nextGaussian()) * (random.nextInt(10) == 0 ? 3 : 1);
    }

    /// A machine that others use too: steps vary by a tenth, and every now and then some forty in a
    /// row take a third longer.
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

    /// The defaults run smoothly; any other tuning often stumbles, which no median sees.
    static StepDelays stumbling() {
        return (tuning, random) ->
                Math.exp(0.02 * random.nextGaussian())
                        * (!tuning.equals(Tuning.DEFAULT) && random.nextInt(10) < 3 ? 3 : 1);
    }
}
