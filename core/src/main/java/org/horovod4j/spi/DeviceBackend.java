package org.horovod4j.spi;

import org.horovod4j.DeviceStream;

/// Launches collectives on the tensors of one device.
///
/// Each collective launches its work and returns, usually before that work is complete. Core has let
/// [DeviceContext#stream] wait for the inputs, and records an event on [#resultStream] after the call. A
/// method that waited for the stream would wait for the program's own computation.
public interface DeviceBackend extends Backend {
    /// The stream on which the results of collectives become complete. It differs from that of the
    /// context if the backend starts a collective before earlier ones are complete. Its work must then wait
    /// for the work on the stream of the context.
    ///
    /// @param stream that of the context
    default DeviceStream resultStream(DeviceStream stream) {
        return stream;
    }
}
