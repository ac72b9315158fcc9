package org.horovod4j.collectives.algorithm;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/// The order in which Adasum combines vectors: adjacent vectors first, then adjacent pairs, and so
/// on.
///
/// If the number of ranks is not a power of two, the first level combines only as many pairs as
/// leave a power of two. The alternative, passing the last vector through, has as many levels. But
/// for five parallel vectors the last one would then weigh as much as the first four together. Here
/// no vector weighs more than twice as much as another.
///
/// ```
/// 0   1   2   3   4
/// +---+   |   |   |     5 = 4 + 1: the first level combines 0 and 1
/// +-------+   +---+
/// +-----------+
/// ```
///
/// The result replaces vector 0. The order depends only on the number of ranks, not on where they
/// run.
///
/// @param levels the pairs of each level; the pairs of one level are independent
public record AdasumTree(List<List<Pair>> levels) {
    public AdasumTree {
        levels = levels.stream().map(List::copyOf).toList();
    }

    /// Two vectors to combine; the result replaces the left one.
    public record Pair(int left, int right) {}

    public static AdasumTree of(int ranks) {
        List<List<Pair>> levels = new ArrayList<>();
        List<Integer> remaining = IntStream.range(0, ranks).boxed().toList();
        int surplus = ranks - Integer.highestOneBit(ranks);
        if (surplus > 0) {
            remaining = combine(remaining, surplus, levels);
        }
        while (remaining.size() > 1) {
            remaining = combine(remaining, remaining.size() / 2, levels);
        }
        return new AdasumTree(levels);
    }

    /// Adds a level that combines the first `pairs` pairs.
    ///
    /// @return the remaining vectors
    private static List<Integer> combine(
            List<Integer> vectors, int pairs, List<List<Pair>> levels) {
        List<Pair> level = new ArrayList<>();
        List<Integer> remaining = new ArrayList<>();
        for (int pair = 0; pair < pairs; pair++) {
            level.add(new Pair(vectors.get(2 * pair), vectors.get(2 * pair + 1)));
            remaining.add(vectors.get(2 * pair));
        }
        remaining.addAll(vectors.subList(2 * pairs, vectors.size()));
        levels.add(level);
        return remaining;
    }

    /// The number of pairs in the largest level.
    public int maxPairs() {
        return levels.stream().mapToInt(List::size).max().orElse(0);
    }
}
