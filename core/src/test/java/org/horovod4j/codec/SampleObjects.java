package org.horovod4j.codec;

import org.jspecify.annotations.Nullable;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.IntStream;

/// Objects that a training program might send, and the classes that they use.
final class SampleObjects {
    enum Phase {
        WARM_UP,
        TRAIN {
            @Override
            boolean updates() {
                return true;
            }
        };

        boolean updates() {
            return false;
        }
    }

    sealed interface Schedule {
        record Constant(double rate) implements Schedule {}

        record Steps(List<Integer> epochs, double factor, Schedule then) implements Schedule {}
    }

    record Pair<A, B>(@Nullable A first, @Nullable B second) {}

    record Empty() {}

    private record Everything(
            boolean aBoolean,
            byte aByte,
            short aShort,
            int anInt,
            long aLong,
            float aFloat,
            double aDouble,
            char aChar,
            Phase phase,
            Schedule schedule,
            Map<String, @Nullable Object> extra) {}

    private SampleObjects() {}

    /// One object with every kind of value that is equal to its copy.
    static Object everything() {
        return new Everything(
                true,
                (byte) -1,
                Short.MIN_VALUE,
                Integer.MAX_VALUE,
                Long.MIN_VALUE,
                Float.MIN_VALUE,
                Double.NaN,
                'é',
                Phase.TRAIN,
                new Schedule.Steps(List.of(30, 60), 0.1, new Schedule.Constant(0.5)),
                extra());
    }

    private static Map<String, @Nullable Object> extra() {
        Map<String, @Nullable Object> map = new LinkedHashMap<>();
        map.put("text", "naïve 漢字 🐎");
        map.put("big", new BigInteger("-123456789012345678901234567890"));
        map.put("exact", new BigDecimal("1.50"));
        map.put("pause", Duration.ofNanos(-1));
        map.put("began", Instant.ofEpochSecond(-1, 1));
        map.put("best", Optional.of(0.75f));
        map.put("worst", Optional.empty());
        map.put("seen", setOf(3, null, 1));
        map.put("nested", List.of(List.of(), Map.of(), Set.of(), new Empty()));
        map.put("again", List.of(new Empty(), Phase.WARM_UP, Phase.TRAIN));
        map.put("nothing", null);
        return map;
    }

    /// Objects of many shapes, for tests that corrupt their encoding.
    static List<@Nullable Object> many() {
        return Arrays.asList(
                null,
                everything(),
                List.of(everything(), everything()),
                wideMap(50),
                List.of(new int[] {1, 2}, new double[5], new boolean[3], new char[] {'a'}),
                List.of(new byte[9], new short[2], new long[4], new float[] {1, 2, 3}),
                Map.of(new Pair<>(1, List.of(2L)), setOf("a", "b"), Phase.TRAIN, 7.5));
    }

    static Map<String, Integer> wideMap(int entries) {
        Map<String, Integer> map = new LinkedHashMap<>();
        IntStream.range(0, entries).forEach(i -> map.put("parameter." + i, i));
        return map;
    }

    static Set<@Nullable Object> setOf(@Nullable Object... elements) {
        Set<@Nullable Object> set = new LinkedHashSet<>();
        Collections.addAll(set, elements);
        return set;
    }
}
