package org.horovod4j.spi;

import java.util.List;

/// The slow, reliable channel beside the data: how ranks meet, agree when they disagree, and learn
/// who is gone. One instance serves one rank in one world.
public interface ControlPlane extends AutoCloseable {
    /// Introduces this rank and waits for all the others. News go to `listener`, on a thread of the
    /// control plane, from here on.
    ///
    /// @return all members, by rank
    /// @throws org.horovod4j.ConfigurationException when they do not meet in time or not at all
    List<Member> join(Member self, Listener listener);

    /// Waits until every rank has called this with the same topic; each topic serves once.
    ///
    /// @return what the ranks gave, by rank
    /// @throws org.horovod4j.PeerLostException when a rank is gone
    List<byte[]> gather(String topic, byte[] mine);

    /// Makes every rank's listener, this one's too, hear that `operation` is disputed.
    void alarm(long operation);

    /// Says that this rank has waited in `operation` for a while. When ranks wait in the same operation
    /// with different stamps, every rank's listener hears that it is disputed.
    ///
    /// @param stamp stands for everything on which the ranks have to agree
    void waiting(long operation, long stamp);

    /// Ends the waiting of a gather that is under way or comes later, with
    /// [org.horovod4j.ShutDownException]: this rank is about to leave.
    void stop();

    /// Tells the others that this rank leaves.
    ///
    /// @param completedOperations how many operations it completed, which end well elsewhere too; 0
    ///     when it failed in the middle of one
    /// @param orderly whether the program asked for it
    /// @param reason what the others should hear: "called shutdown", "its process has ended", …
    void leave(long completedOperations, boolean orderly, String reason);

    @Override
    void close();

    /// What a rank hears from the control plane.
    interface Listener {
        /// A rank is gone. Heard at most twice: of the first to leave in order, of the first to fail.
        void lost(Loss loss);

        /// A rank found that the ranks disagree about `operation`.
        void disputed(long operation);
    }
}
