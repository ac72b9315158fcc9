package org.horovod4j.rendezvous;

import org.horovod4j.spi.RankDeparture;
import org.horovod4j.spi.RankInfo;

import java.util.List;
import java.util.Map;

/// The messages between ranks and rendezvous server.
sealed interface RendezvousMessage {
    /// Messages that a rank sends.
    sealed interface FromClient extends RendezvousMessage {}

    /// Messages that the server sends.
    sealed interface FromServer extends RendezvousMessage {}

    /// A rank joins `generation`. The first message, sent once.
    record Join(int generation, int size, RankInfo rankInfo) implements FromClient {}

    /// A rank's contribution to an allgather.
    @SuppressWarnings("ArrayRecordComponent") // never compared
    record Allgather(String topic, byte[] contribution) implements FromClient {}

    /// A rank asks for the state of all ranks.
    ///
    /// @param surveyId tells the surveys of this rank apart
    record SurveyRequest(int surveyId) implements FromClient {}

    /// A rank's answer to [DescribeRequest].
    @SuppressWarnings("ArrayRecordComponent") // never compared
    record DescribeReply(int requester, int surveyId, byte[] text) implements FromClient {
        public DescribeReply {
            checkText(text);
        }
    }

    /// A rank cannot continue, because it needs `rank`, which has left or is lost.
    record Blocked(int rank, String reason) implements FromClient {}

    /// A rank leaves. Its connection closes next.
    ///
    /// @param completed how many batches it completed in each process set
    record Leave(Map<Integer, Long> completed, boolean orderly, String reason)
            implements FromClient {
        public Leave {
            completed = Map.copyOf(completed);
        }
    }

    /// The rank cannot join, or not all ranks joined in time.
    record Refused(String reason) implements FromServer {}

    /// All ranks have joined.
    record Joined(List<RankInfo> members) implements FromServer {
        public Joined {
            members = List.copyOf(members);
        }
    }

    /// The contributions of an allgather, by rank.
    record AllgatherResult(String topic, List<byte[]> contributions) implements FromServer {
        public AllgatherResult {
            contributions = List.copyOf(contributions);
        }
    }

    /// The rank is asked to describe its state, for a survey of `requester`.
    record DescribeRequest(int requester, int surveyId) implements FromServer {}

    /// The answer of `rank` to a survey of this rank.
    @SuppressWarnings("ArrayRecordComponent") // never compared
    record SurveyAnswer(int surveyId, int rank, byte[] text) implements FromServer {
        public SurveyAnswer {
            checkText(text);
        }
    }

    /// All connected ranks have answered.
    record SurveyComplete(int surveyId) implements FromServer {}

    /// A rank has left or is lost.
    ///
    /// @param pid its process, or -1 when the server never knew it
    record Lost(RankDeparture rankDeparture, long pid) implements FromServer {}

    private static void checkText(byte[] text) {
        if (text.length > StateDescription.MAX_BYTES) {
            throw new IllegalArgumentException(
                    "a description of " + text.length + " bytes is too long");
        }
    }
}
