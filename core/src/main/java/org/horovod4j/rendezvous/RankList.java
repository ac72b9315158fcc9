package org.horovod4j.rendezvous;

import java.util.Iterator;
import java.util.NavigableSet;

/// Ranks as people write them: "rank 3", "ranks 0-2, 5".
final class RankList {
    private RankList() {}

    static String format(NavigableSet<Integer> ranks) {
        StringBuilder text = new StringBuilder(ranks.size() == 1 ? "rank " : "ranks ");
        String separator = "";
        Iterator<Integer> rest = ranks.iterator();
        Integer next = rest.hasNext() ? rest.next() : null;
        while (next != null) {
            int first = next;
            int last = first;
            next = rest.hasNext() ? rest.next() : null;
            while (next != null && next == last + 1) {
                last = next;
                next = rest.hasNext() ? rest.next() : null;
            }
            text.append(separator).append(first);
            if (last > first) {
                text.append('-').append(last);
            }
            separator = ", ";
        }
        return text.toString();
    }
}
