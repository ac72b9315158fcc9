package org.horovod4j.spi;

/// Launches collectives on the tensors of one device.
///
/// Each collective launches its work on [DeviceContext#stream] and returns, usually before that work
/// is complete. Core has let the stream wait for the inputs, and records an event after the call. A
/// method that waited for the stream would wait for the program's own computation.
public interface DeviceBackend extends Backend {}
