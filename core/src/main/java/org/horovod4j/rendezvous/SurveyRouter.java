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
final class SurveyRouter {
    private final Map<Integer, OpenSurvey> byRequester = new HashMap<>();
    private final BiConsumer<Integer, RendezvousMessage.FromServer> sender;

    /// @param sender says something to a rank
    SurveyRouter(BiConsumer<Integer, RendezvousMessage.FromServer> sender) {
        this.sender = sender;
    }

    private record OpenSurvey(int id, Set<Integer> pendingRanks) {}

    /// Asks `ranks`, of which the asker is one.
    void begin(int asker, int number, Set<Integer> ranks) {
        byRequester.put(asker, new OpenSurvey(number, new TreeSet<>(ranks)));
        ranks.forEach(
                rank -> sender.accept(rank, new RendezvousMessage.DescribeRequest(asker, number)));
    }

    /// Hands an answer on, unless it comes too late.
    void answered(int rank, RendezvousMessage.DescribeReply answer) {
        OpenSurvey survey = byRequester.get(answer.requester());
        if (survey == null || survey.id != answer.surveyId() || !survey.pendingRanks.remove(rank)) {
            return;
        }
        sender.accept(
                answer.requester(),
                new RendezvousMessage.SurveyAnswer(survey.id, rank, answer.text()));
        if (survey.pendingRanks.isEmpty()) {
            byRequester.remove(answer.requester());
            complete(answer.requester(), survey);
        }
    }

    /// Neither asks `rank` any more nor waits for it.
    void rankDisconnected(int rank) {
        byRequester.remove(rank);
        Iterator<Map.Entry<Integer, OpenSurvey>> each = byRequester.entrySet().iterator();
        while (each.hasNext()) {
            Map.Entry<Integer, OpenSurvey> entry = each.next();
            OpenSurvey survey = entry.getValue();
            if (survey.pendingRanks.remove(rank) && survey.pendingRanks.isEmpty()) {
                each.remove();
                complete(entry.getKey(), survey);
            }
        }
    }

    private void complete(int asker, OpenSurvey survey) {
        sender.accept(asker, new RendezvousMessage.SurveyComplete(survey.id));
    }
}
