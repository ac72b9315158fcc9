package org.horovod4j.djl;

import org.horovod4j.Communicator;
import org.horovod4j.Hvd;
import org.jspecify.annotations.Nullable;

/// The ranks that something works among: those of a communicator that it was given, or else those that [Hvd]
/// has whenever they are asked for.
///
/// In an elastic job those of `Hvd` change. Whoever keeps a communicator of an earlier generation would
/// work with numbers that mean nothing any more, so what was given is refused once it is closed.
///
/// @param given nothing for those of `Hvd`
public record CommunicatorProvider(@Nullable Communicator given) {
    /// Those that [Hvd] has.
    public static final CommunicatorProvider FROM_HVD = new CommunicatorProvider(null);

    /// Their communicator of today.
    ///
    /// @throws IllegalStateException when it is closed, or nobody has called [Hvd#init]
    public Communicator current() {
        if (given == null) {
            return Hvd.communicator();
        }
        if (!given.isOpen()) {
            throw new IllegalStateException(
                    """
                    the communicator that this was built with is closed: its world has ended
                    Build it without a communicator, so that it follows Hvd from one generation to the next, or \
                    anew in the body of Elastic.run.""");
        }
        return given;
    }
}
