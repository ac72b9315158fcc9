package org.horovod4j.text;

import java.util.List;

/// Ranks as text: "rank 3", "ranks 0-2, 5".
public final class RankList {
    private RankList() {}

    /// Joins runs of ranks, as in "ranks 0-2, 5".
    ///
    /// @param ranks in ascending order
    public static String format(List<Integer> ranks) {
        StringBuilder text = new StringBuilder(ranks.size() == 1 ? "rank " : "ranks ");
        for (int i = 0; i < ranks.size(); ) {
            int end = i;
            while (end + 1 < ranks.size() && ranks.get(end + 1) == ranks.get(end) + 1) {
                end++;
            }
            text.append(i == 0 ? "" : ", ").append(ranks.get(i));
            if (end > i) {
                text.append(end == i + 1 ? ", " : "-").append(ranks.get(end));
            }
            i = end + 1;
        }
        return text.toString();
    }
}
