package org.horovod4j.training;

import org.horovod4j.Communicator;
import org.horovod4j.Hvd;
import org.jspecify.annotations.Nullable;

/// Returns the communicator to use now: a given one, or the one that [Hvd] has.
///
/// In an elastic job the communicator of `Hvd` changes with each generation. A given communicator is
/// refused once it is closed, since its rank and size are no longer valid.
///
/// Two are equal if both have the same communicator, or both have that of `Hvd`.
public final class CommunicatorProvider {
    /// Returns the communicator of [Hvd].
    public static final CommunicatorProvider FROM_HVD = new CommunicatorProvider();

    private final @Nullable Communicator given;

    private CommunicatorProvider() {
        this.given = null;
    }

    /// Returns `given`, as long as it is open.
    public CommunicatorProvider(Communicator given) {
        this.given = given;
    }

    /// The communicator to use now.
    ///
    /// @throws IllegalStateException when the given communicator is closed, or `Hvd` is not
    ///     initialised
    public Communicator current() {
        if (given == null) {
            return Hvd.communicator();
        }
        if (!given.isOpen()) {
            throw new IllegalStateException(
                    """
                    the communicator given to this object is closed
                    Build the object without a communicator, so that it uses that of Hvd in each generation, or \
                    build it in the body of Elastic.run.""");
        }
        return given;
    }

    @Override
    @SuppressWarnings("ReferenceEquality") // a communicator is equal to itself only
    public boolean equals(@Nullable Object other) {
        return other instanceof CommunicatorProvider provider && given == provider.given;
    }

    @Override
    public int hashCode() {
        return System.identityHashCode(given);
    }
}
