package org.horovod4j.spi;

import org.jspecify.annotations.Nullable;

import java.util.List;
import java.util.Map;

/// The slow, reliable channel beside the data: how ranks meet, exchange what all must know, ask
/// each other how they are, and learn who is gone. One instance serves one rank in one world.
public interface ControlPlane extends AutoCloseable {
    /// Introduces this rank and waits for all the others. News go to `listener`, on a thread of the
    /// control plane, from here on.
    ///
    /// @return all members, by rank
    /// @throws org.horovod4j.ConfigurationException when they do not meet in time or not at all
    List<RankInfo> join(RankInfo self, Listener listener);

    /// Waits until every rank has called this with the same topic; after that the topic may be used
    /// again.
    ///
    /// @return what the ranks gave, by rank
    /// @throws org.horovod4j.PeerLostException when a rank is gone
    /// @throws org.horovod4j.ShutDownException when a rank has left in order, or this one is about
    ///     to
    List<byte[]> allgather(String topic, byte[] mine);

    /// Asks every rank, this one too, for a description of its state. Neither a program that hangs
    /// nor a rank that is gone keeps the answers of the others back: whoever has not answered after
    /// two seconds is passed over.
    ///
    /// @return what each rank's [Listener#describe] said, by rank; null where nothing came
    List<byte @Nullable []> survey();

    /// Ends the waiting of a gather that is under way or comes later, with
    /// [org.horovod4j.ShutDownException]: this rank is about to leave.
    void stop();

    /// Tells the others that this rank leaves.
    ///
    /// @param completed how many operations it completed in each process set, which end well
    ///     elsewhere too; empty when it failed in the middle of one
    /// @param orderly whether the program asked for it
    /// @param reason what the others should hear: "called shutdown", "its process has ended", …
    void leave(Map<Integer, Long> completed, boolean orderly, String reason);

    @Override
    void close();

    /// What a rank hears from the control plane, and is asked by it. All on a thread of the control
    /// plane, which has other news to bring: nothing here may block.
    interface Listener {
        /// A rank is gone. Heard of every rank that leaves in order, and of the first to fail.
        void rankDeparted(RankDeparture rankDeparture);

        /// What this rank is doing, for a [ControlPlane#survey]; the first 256 KiB are passed on.
        byte[] describe();
    }
}
