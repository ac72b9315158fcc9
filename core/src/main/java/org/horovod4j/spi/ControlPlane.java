package org.horovod4j.spi;

import org.jspecify.annotations.Nullable;

import java.util.List;
import java.util.Map;

/// A slow, reliable channel that is separate from the links. Over it ranks join, exchange metadata,
/// ask each other for their state and learn which ranks are gone. One instance serves one rank in
/// one world.
public interface ControlPlane extends AutoCloseable {
    /// Publishes `self` and waits for all other ranks. From then on `listener` is called on a
    /// thread of the control plane.
    ///
    /// @return the published data of all ranks, by rank
    /// @throws org.horovod4j.ConfigurationException if the ranks do not all join in time
    List<RankInfo> join(RankInfo self, Listener listener);

    /// Waits until every rank has called this with the same topic. Afterwards the topic may be used
    /// again.
    ///
    /// @return the bytes of all ranks, by rank
    /// @throws org.horovod4j.PeerLostException if a rank is lost
    /// @throws org.horovod4j.ShutDownException if a rank has called shutdown, or this rank is about
    ///     to leave
    List<byte[]> allgather(String topic, byte[] mine);

    /// Asks all ranks, including this one, for a description of their state. A rank that does not
    /// answer within two seconds is skipped, so a lost or hanging rank does not delay the others'
    /// answers.
    ///
    /// @return the result of each rank's [Listener#describe], by rank; null for a rank without an
    ///     answer
    List<byte @Nullable []> survey();

    /// Ends a current or later [#allgather] with [org.horovod4j.ShutDownException]: this rank is
    /// about to leave.
    void stop();

    /// Reports that this rank cannot continue because of a departure, so that the launcher can name
    /// its cause.
    default void reportBlocked(RankDeparture departure) {}

    /// Announces that this rank leaves.
    ///
    /// @param completed the number of batches that this rank completed in each process set; the
    ///     other ranks can finish these. Empty if this rank failed during a batch
    /// @param orderly whether the program asked to leave
    /// @param reason the text for the other ranks: "called shutdown", "its process has ended", …
    void leave(Map<Integer, Long> completed, boolean orderly, String reason);

    @Override
    void close();

    /// Callbacks of the control plane. They run on its thread and must not block.
    interface Listener {
        /// A rank is gone. Called for every rank that calls shutdown, and for the first rank that
        /// fails.
        void rankDeparted(RankDeparture rankDeparture);

        /// Describes what this rank is doing, for [ControlPlane#survey]. At most 256 KiB are sent.
        byte[] describe();
    }
}
