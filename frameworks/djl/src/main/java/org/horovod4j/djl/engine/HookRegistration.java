package org.horovod4j.djl.engine;

/// A hook that is called as long as this is held and not closed.
///
/// What the hook throws cannot reach backward's caller, since native code lies between: it is kept
/// here until somebody asks.
public interface HookRegistration extends AutoCloseable {
    /// Throws what the hook has thrown since the last time, if it has.
    void rethrow();

    /// The hook is not called any more.
    @Override
    void close();
}
