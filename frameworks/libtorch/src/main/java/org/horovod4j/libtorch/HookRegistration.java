package org.horovod4j.libtorch;

/// A hook on the gradient of a parameter. It is called until this registration is closed or
/// garbage-collected.
///
/// An exception of the hook cannot pass through native code to the caller of backward. It is kept
/// here until [#rethrow].
public interface HookRegistration extends AutoCloseable {
    /// Throws the first exception of the hook since the last call. Returns if there was none.
    void rethrow();

    /// Removes the hook.
    @Override
    void close();
}
