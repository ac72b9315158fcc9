package org.horovod4j.rendezvous;

import org.horovod4j.spi.Loss;
import org.horovod4j.spi.Member;

import java.util.List;
import java.util.Map;

/// What the two ends of a rendezvous connection say to each other.
sealed interface Message {
    /// What a rank says to the server.
    sealed interface FromClient extends Message {}

    /// What the server says to a rank.
    sealed interface FromServer extends Message {}

    /// Nothing but a sign of life, sent when there was nothing else to say for a while.
    record Heartbeat() implements FromClient, FromServer {}

    /// A rank wants into the world of `generation`. Comes first, and once.
    record Join(int generation, int size, Member member) implements FromClient {}

    /// A rank's share of a gather.
    @SuppressWarnings("ArrayRecordComponent") // handed on, never compared
    record Gather(String topic, byte[] share) implements FromClient {}

    /// A rank wants to know how all the others are.
    ///
    /// @param number the rank's own, to tell its surveys apart
    record Survey(int number) implements FromClient {}

    /// A rank's answer to [Describe].
    @SuppressWarnings("ArrayRecordComponent") // handed on, never compared
    record Described(int asker, int number, byte[] text) implements FromClient {
        public Described {
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
    record Joined(List<Member> members) implements FromServer {
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
    record Describe(int asker, int number) implements FromServer {}

    /// What `rank` has answered to the survey of this rank.
    @SuppressWarnings("ArrayRecordComponent") // handed on, never compared
    record Answer(int number, int rank, byte[] text) implements FromServer {
        public Answer {
            checkText(text);
        }
    }

    /// Everybody has answered who is there.
    record Surveyed(int number) implements FromServer {}

    /// A rank is gone.
    ///
    /// @param pid its process, or -1 when the server never knew it
    record Lost(Loss loss, long pid) implements FromServer {}

    private static void checkText(byte[] text) {
        if (text.length > Description.MAX_BYTES) {
            throw new IllegalArgumentException("a description of " + text.length + " bytes");
        }
    }
}
