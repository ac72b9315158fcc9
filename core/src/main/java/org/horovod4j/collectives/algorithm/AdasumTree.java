package org.horovod4j.collectives.algorithm;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/// Which vectors Adasum combines, and when: neighbours first, then neighbouring pairs, and so on.
///
/// Where the ranks are not a power of two, the first ones are combined with their neighbours until
/// those left are. The other way, to let the odd one pass, would take as many levels; but of five
/// vectors in one direction the last would weigh as much as the first four together. Here no
/// vector weighs more than twice as much as another.
///
/// ```
/// 0   1   2   3   4
/// +---+   |   |   |     one more than a power of two: 0 and 1 come first
/// +-------+   +---+
/// +-----------+
/// ```
///
/// The result is where vector 0 was. The order depends on the number of ranks alone, not on where
/// they run.
///
/// @param levels the pairs that can be combined side by side, level after level
public record AdasumTree(List<List<Pair>> levels) {
    public AdasumTree {
        levels = levels.stream().map(List::copyOf).toList();
    }

    /// Two vectors that become one, in the place of the left one.
    public record Pair(int left, int right) {}

    public static AdasumTree of(int ranks) {
        List<List<Pair>> levels = new ArrayList<>();
        List<Integer> left = IntStream.range(0, ranks).boxed().toList();
        int surplus = ranks - Integer.highestOneBit(ranks);
        if (surplus > 0) {
            left = combine(left, surplus, levels);
        }
        while (left.size() > 1) {
            left = combine(left, left.size() / 2, levels);
        }
        return new AdasumTree(levels);
    }

    /// Adds a level that combines the first `pairs` pairs.
    ///
    /// @return the vectors that are left
    private static List<Integer> combine(
            List<Integer> vectors, int pairs, List<List<Pair>> levels) {
        List<Pair> level = new ArrayList<>();
        List<Integer> left = new ArrayList<>();
        for (int pair = 0; pair < pairs; pair++) {
            level.add(new Pair(vectors.get(2 * pair), vectors.get(2 * pair + 1)));
            left.add(vectors.get(2 * pair));
        }
        left.addAll(vectors.subList(2 * pairs, vectors.size()));
        levels.add(level);
        return left;
    }

    /// The most pairs of a level.
    public int maxPairs() {
        return levels.stream().mapToInt(List::size).max().orElse(0);
    }
}
