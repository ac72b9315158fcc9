package org.horovod4j.launcher.function;

/// A request of a rank to the [FunctionServer].
sealed interface FunctionRequest {
    /// Asks for the function. The reply is a [FunctionReference].
    record Fetch() implements FunctionRequest {}

    /// Reports how the function ended.
    sealed interface Outcome extends FunctionRequest {
        int rank();
    }

    /// The function returned.
    ///
    /// @param value the encoded result, which the server does not decode
    @SuppressWarnings("ArrayRecordComponent") // never compared
    record Returned(int rank, byte[] value) implements Outcome {}

    /// The function threw, or could not be called.
    record Threw(int rank, FunctionFailure functionFailure) implements Outcome {}
}
