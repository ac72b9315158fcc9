package org.horovod4j;

/// [Handle#join(java.time.Duration)] has waited for as long as it was asked to. The operation
/// continues and its tensors stay in use: join the handle again, or leave the job.
public final class OperationTimeoutException extends HorovodException {
    private static final long serialVersionUID = 1L;

    public OperationTimeoutException(String message) {
        super(message);
    }
}
