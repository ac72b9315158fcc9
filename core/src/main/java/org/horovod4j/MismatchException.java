package org.horovod4j;

/// The ranks submitted operations that do not fit together: fix the program. Every rank of the
/// operation gets the same exception, and the next operation can run.
public final class MismatchException extends HorovodException {
    private static final long serialVersionUID = 1L;

    public MismatchException(String message) {
        super(message);
    }
}
