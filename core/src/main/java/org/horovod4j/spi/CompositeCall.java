package org.horovod4j.spi;

import org.horovod4j.Communicator;

/// A call of the program that runs as several operations, or as one under another name.
///
/// Each of these operations carries the call. So the coordinator sees when ranks use one name for
/// different calls, although their operations have different names, and reports the names and
/// methods that the program uses.
///
/// @param name as given by the program
/// @param method what the program called, as reports name it
/// @param members the number of tensors of a group; [#NO_GROUP] for other calls
public record CompositeCall(String name, String method, int members) {
    public static final int NO_GROUP = -1;

    /// In place of a call: the operation has the name and the kind that the program gave.
    public static final CompositeCall NONE = new CompositeCall("", "", NO_GROUP);

    /// A communicator that can mark operations as parts of a call.
    public interface Marker {
        /// This communicator, for the operations of `call`. If it marks them for a call already, it
        /// keeps that one: the program has made the outer call.
        Communicator within(CompositeCall call);
    }

    /// A communicator for the operations of a call. Returns `communicator` itself if it cannot mark
    /// them: one that a program has implemented.
    public static Communicator mark(Communicator communicator, String name, String method) {
        return communicator instanceof Marker marker
                ? marker.within(new CompositeCall(name, method, NO_GROUP))
                : communicator;
    }

    /// Whether the call is that of a group.
    public boolean isGroup() {
        return members != NO_GROUP;
    }

    /// The size of a group, in words.
    public String memberCount() {
        return members == 1 ? "1 tensor" : members + " tensors";
    }

    @Override
    public String toString() {
        return isGroup() ? "%s of %s".formatted(method, memberCount()) : method;
    }
}
