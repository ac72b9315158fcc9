package org.horovod4j.rendezvous;

import org.horovod4j.spi.RankDeparture;
import org.horovod4j.spi.RankInfo;

import java.util.List;
import java.util.Map;

/// What the two ends of a rendezvous connection say to each other.
sealed interface RendezvousMessage {
    /// What a rank says to the server.
    sealed interface FromClient extends RendezvousMessage {}

    /// What the server says to a rank.
    sealed interface FromServer extends RendezvousMessage {}

    /// A rank wants into the world of `generation`. Comes first, and once.
    record Join(int generation, int size, RankInfo rankInfo) implements FromClient {}

    /// A rank's share of a gather.
    @SuppressWarnings("ArrayRecordComponent") // handed on, never compared
    record Gather(String topic, byte[] share) implements FromClient {}

    /// A rank wants to know how all the others are.
    ///
    /// @param surveyId the rank's own, to tell its surveys apart
    record SurveyRequest(int surveyId) implements FromClient {}

    /// A rank's answer to [DescribeRequest].
    @SuppressWarnings("ArrayRecordComponent") // handed on, never compared
    record DescribeReply(int requester, int surveyId, byte[] text) implements FromClient {
        public DescribeReply {
            checkText(text);
        }
    }

    /// A rank leaves; its connection closes next.
    ///
    /// @param completed how many operations it completed in each process set
    record Leave(Map<Integer, Long> completed, boolean orderly, String reason)
            implements FromClient {
        public Leave {
            completed = Map.copyOf(completed);
        }
    }

    /// The rank cannot join, or not all could.
    record Refused(String reason) implements FromServer {}

    /// All ranks have joined.
    record Joined(List<RankInfo> members) implements FromServer {
        public Joined {
            members = List.copyOf(members);
        }
    }

    /// The shares of a gather, by rank.
    record Gathered(String topic, List<byte[]> shares) implements FromServer {
        public Gathered {
            shares = List.copyOf(shares);
        }
    }

    /// The rank should describe its state, for the survey of another.
    record DescribeRequest(int requester, int surveyId) implements FromServer {}

    /// What `rank` has answered to the survey of this rank.
    @SuppressWarnings("ArrayRecordComponent") // handed on, never compared
    record SurveyAnswer(int surveyId, int rank, byte[] text) implements FromServer {
        public SurveyAnswer {
            checkText(text);
        }
    }

    /// Everybody has answered who is there.
    record SurveyComplete(int surveyId) implements FromServer {}

    /// A rank is gone.
    ///
    /// @param pid its process, or -1 when the server never knew it
    record Lost(RankDeparture rankDeparture, long pid) implements FromServer {}

    private static void checkText(byte[] text) {
        if (text.length > StateDescription.MAX_BYTES) {
            throw new IllegalArgumentException("a description of " + text.length + " bytes");
        }
    }
}
