package org.horovod4j;

/// The ranks submitted operations that do not match: fix the program. Every rank that submitted the
/// operation gets the same message. Other operations are not affected.
public final class MismatchException extends HorovodException {
    private static final long serialVersionUID = 1L;

    public MismatchException(String message) {
        super(message);
    }
}
