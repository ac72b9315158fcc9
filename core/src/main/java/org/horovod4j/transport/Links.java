package org.horovod4j.transport;

/// The links of one rank in one channel of a [LinkTransport]. Each link is opened on first use.
public interface Links extends AutoCloseable {
    /// The link to `peer`, opened if necessary. Both ends must call this: the higher rank connects,
    /// the lower rank waits for the connection.
    ///
    /// @throws LinkBrokenException if the peer has closed or reset this channel
    Link link(int peer);

    /// Closes all links and discards the messages in transit, so that new links start empty. All
    /// ranks call this together.
    void reset();

    /// Sets the number of connections of each link that is opened from now on, if the transport
    /// supports several. All ranks set the same number and then call [#reset].
    ///
    /// @param streams the number of connections, or 0 to leave it to the transport
    void useStreams(int streams);

    /// Closes this channel and all its links. Other channels stay open.
    @Override
    void close();
}
