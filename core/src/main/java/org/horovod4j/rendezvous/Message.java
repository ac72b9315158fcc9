package org.horovod4j.rendezvous;

import org.horovod4j.spi.Loss;
import org.horovod4j.spi.Member;

import java.util.List;

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

    /// A rank finds an operation disputed.
    record Alarm(long operation) implements FromClient {}

    /// A rank has waited in an operation for a while.
    record Waiting(long operation, long stamp) implements FromClient {}

    /// A rank leaves; its connection closes next.
    record Leave(long completedOperations, boolean orderly, String reason) implements FromClient {}

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

    /// Some rank finds an operation disputed.
    record Disputed(long operation) implements FromServer {}

    /// A rank is gone.
    ///
    /// @param pid its process, or -1 when the server never knew it
    record Lost(Loss loss, long pid) implements FromServer {}
}
