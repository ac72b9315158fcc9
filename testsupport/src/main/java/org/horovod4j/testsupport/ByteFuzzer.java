package org.horovod4j.testsupport;

import org.jspecify.annotations.Nullable;

import java.io.ByteArrayOutputStream;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.function.Supplier;

/// Decodes valid bytes after random changes: a decoder must return a value or throw its own
/// exception. To repeat a run, pass the property that it prints.
///
/// @param name of the decoder, for messages
/// @param originals valid encodings
/// @param refusal what the decoder throws for invalid bytes
public record ByteFuzzer(
        String name, List<byte[]> originals, Decoder decoder, Class<? extends Exception> refusal) {
    /// How many changed inputs a test of the default build decodes.
    public static final int SHORT = 20_000;

    /// The same for the slow profile.
    public static final int LONG = 2_000_000;

    /// Reads bytes.
    public interface Decoder {
        /// Returns a value, or throws.
        @Nullable Object decode(byte[] bytes) throws Exception;
    }

    public ByteFuzzer {
        originals = List.copyOf(originals);
    }

    /// Decodes each original cut off at every length, and with one byte more.
    ///
    /// @throws AssertionError when the decoder does not refuse one of them, with the bytes
    public void runOtherLengths() {
        for (byte[] original : originals) {
            for (int length = 0; length <= original.length + 1; length++) {
                byte[] bytes = Arrays.copyOf(original, length);
                if (length != original.length && !isRefused(bytes, () -> name)) {
                    throw new AssertionError(
                            "%s accepts %d of %d bytes: %s"
                                    .formatted(
                                            name, length, original.length, Arrays.toString(bytes)));
                }
            }
        }
    }

    /// Decodes `count` changed inputs.
    ///
    /// @return how many were refused
    /// @throws AssertionError when the decoder throws something else, with the seed and the bytes
    public int run(int count) {
        long seed = Long.getLong("horovod4j.seed", System.nanoTime());
        System.out.printf("%s: -Dhorovod4j.seed=%d%n", name, seed);
        Random random = new Random(seed);
        int refused = 0;
        for (int i = 0; i < count; i++) {
            byte[] bytes = changed(originals.get(random.nextInt(originals.size())), random);
            int input = i;
            if (isRefused(bytes, () -> "%s, seed %d, input %d".formatted(name, seed, input))) {
                refused++;
            }
        }
        return refused;
    }

    /// @param what is decoded, for messages
    private boolean isRefused(byte[] bytes, Supplier<String> what) {
        try {
            @Nullable Object _ = decoder.decode(bytes);
            return false;
        } catch (Exception | StackOverflowError | OutOfMemoryError e) {
            if (!refusal.isInstance(e)) {
                throw new AssertionError("%s: %s".formatted(what.get(), Arrays.toString(bytes)), e);
            }
            return true;
        }
    }

    /// Changes, drops, repeats or inserts a few bytes in one to three places.
    private static byte[] changed(byte[] original, Random random) {
        byte[] bytes = original.clone();
        int places = 1 + random.nextInt(3);
        for (int i = 0; i < places && bytes.length > 1; i++) {
            int from = random.nextInt(bytes.length);
            int to = Math.min(bytes.length, from + 1 + random.nextInt(8));
            bytes =
                    switch (random.nextInt(5)) {
                        case 0 -> Arrays.copyOf(bytes, from);
                        case 1 -> join(bytes, from, new byte[0], to);
                        case 2 -> join(bytes, to, Arrays.copyOfRange(bytes, from, to), to);
                        case 3 -> join(bytes, from, randomBytes(random, to - from), from);
                        default -> join(bytes, from, randomBytes(random, 1), from + 1);
                    };
        }
        return bytes;
    }

    private static byte[] join(byte[] bytes, int headEnd, byte[] middle, int tailStart) {
        ByteArrayOutputStream joined = new ByteArrayOutputStream();
        joined.write(bytes, 0, headEnd);
        joined.writeBytes(middle);
        joined.write(bytes, tailStart, bytes.length - tailStart);
        return joined.toByteArray();
    }

    private static byte[] randomBytes(Random random, int count) {
        byte[] bytes = new byte[count];
        random.nextBytes(bytes);
        return bytes;
    }
}
