package org.horovod4j;

/// An elastic job has no place for this worker any more: its process is to end, and has done
/// nothing wrong. [Hvd#init] ends it, so programs do not meet this.
public final class DismissedException extends HorovodException {
    private static final long serialVersionUID = 1L;

    public DismissedException(String reason) {
        super(reason);
    }
}
