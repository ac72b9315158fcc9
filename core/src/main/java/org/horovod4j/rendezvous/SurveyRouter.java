package org.horovod4j.rendezvous;

import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.BiConsumer;

/// The open surveys of a generation, on the server: who requested each, and who has yet to answer.
///
/// Answers are forwarded as they come, so nothing is stored. There is no timer: the requesting rank
/// has its own, and its next survey replaces the one before.
final class SurveyRouter {
    private final Map<Integer, OpenSurvey> byRequester = new HashMap<>();
    private final BiConsumer<Integer, RendezvousMessage.FromServer> sender;

    /// @param sender sends a message to a rank
    SurveyRouter(BiConsumer<Integer, RendezvousMessage.FromServer> sender) {
        this.sender = sender;
    }

    private record OpenSurvey(int id, Set<Integer> pendingRanks) {}

    /// Asks `ranks`, including the requester itself.
    void begin(int requester, int surveyId, Set<Integer> ranks) {
        byRequester.put(requester, new OpenSurvey(surveyId, new TreeSet<>(ranks)));
        ranks.forEach(
                rank ->
                        sender.accept(
                                rank, new RendezvousMessage.DescribeRequest(requester, surveyId)));
    }

    /// Forwards an answer, unless it comes too late.
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

    /// Drops the survey of `rank`, and stops waiting for its answers.
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

    private void complete(int requester, OpenSurvey survey) {
        sender.accept(requester, new RendezvousMessage.SurveyComplete(survey.id));
    }
}
