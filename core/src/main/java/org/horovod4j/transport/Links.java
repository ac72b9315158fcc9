package org.horovod4j.transport;

/// The links of one rank, each opened when it is first asked for.
public interface Links extends AutoCloseable {
    /// The link to `peer`, opened now if need be. Both ends ask for it: the higher rank dials, the
    /// lower one waits for the call.
    Link link(int peer);

    /// Closes all links, with whatever is under way in them, so that new ones start clean. All ranks
    /// do this together.
    void reset();

    @Override
    void close();
}
