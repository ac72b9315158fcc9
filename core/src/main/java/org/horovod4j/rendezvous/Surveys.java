package org.horovod4j.rendezvous;

import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.BiConsumer;

/// The surveys under way in a world, as the server sees them: who asks, and who has yet to answer.
///
/// Answers are handed on as they come, so that nothing is stored. There is no clock: the rank that
/// asks gives up by itself, and its next survey takes the place of the one before.
final class Surveys {
    private final Map<Integer, Open> byAsker = new HashMap<>();
    private final BiConsumer<Integer, Message.FromServer> teller;

    /// @param teller says something to a rank
    Surveys(BiConsumer<Integer, Message.FromServer> teller) {
        this.teller = teller;
    }

    private record Open(int number, Set<Integer> awaited) {}

    /// Asks `ranks`, of which the asker is one.
    void begin(int asker, int number, Set<Integer> ranks) {
        byAsker.put(asker, new Open(number, new TreeSet<>(ranks)));
        ranks.forEach(rank -> teller.accept(rank, new Message.Describe(asker, number)));
    }

    /// Hands an answer on, unless it comes too late.
    void answered(int rank, Message.Described answer) {
        Open survey = byAsker.get(answer.asker());
        if (survey == null || survey.number != answer.number() || !survey.awaited.remove(rank)) {
            return;
        }
        teller.accept(answer.asker(), new Message.Answer(survey.number, rank, answer.text()));
        if (survey.awaited.isEmpty()) {
            byAsker.remove(answer.asker());
            end(answer.asker(), survey);
        }
    }

    /// Neither asks `rank` any more nor waits for it.
    void gone(int rank) {
        byAsker.remove(rank);
        Iterator<Map.Entry<Integer, Open>> each = byAsker.entrySet().iterator();
        while (each.hasNext()) {
            Map.Entry<Integer, Open> entry = each.next();
            Open survey = entry.getValue();
            if (survey.awaited.remove(rank) && survey.awaited.isEmpty()) {
                each.remove();
                end(entry.getKey(), survey);
            }
        }
    }

    private void end(int asker, Open survey) {
        teller.accept(asker, new Message.Surveyed(survey.number));
    }
}
