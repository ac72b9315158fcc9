package org.horovod4j.transport;

/// The links of one rank in one of its [LinkTransport], each opened when it is first asked for.
public interface Links extends AutoCloseable {
    /// The link to `peer`, opened now if need be. Both ends ask for it: the higher rank dials, the
    /// lower one waits for the call.
    ///
    /// @throws LinkBrokenException when the peer has closed this channel or begun it anew
    Link link(int peer);

    /// Closes all links, with whatever is under way in them, so that new ones start clean. All
    /// ranks do this together.
    void reset();

    /// Chooses how many connections make up a link that is opened from now on, where a transport
    /// can have several. All ranks choose the same, and then [#reset].
    ///
    /// @param streams how many, or 0 to leave it to the transport
    void useStreams(int streams);

    /// Closes all links of this channel for good; the other channels stay.
    @Override
    void close();
}
