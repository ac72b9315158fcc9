package org.horovod4j.launcher.function;

/// What a rank wants at the [FunctionServer].
sealed interface FunctionRequest {
    /// The function. The answer is a [FunctionReference].
    record Fetch() implements FunctionRequest {}

    /// To hand in how the function ended. The answer is empty.
    sealed interface Outcome extends FunctionRequest {
        int rank();
    }

    /// The function returned.
    ///
    /// @param value the result, encoded: the desk passes it on to those who know its class
    @SuppressWarnings("ArrayRecordComponent") // bytes on their way, compared with nothing
    record Returned(int rank, byte[] value) implements Outcome {}

    /// The function threw, or could not be called.
    record Threw(int rank, FunctionFailure functionFailure) implements Outcome {}
}
