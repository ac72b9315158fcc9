package org.horovod4j;

/// An elastic job has no place for this worker any more. This is not a failure: the process is to
/// end. [Hvd#init] throws it; [org.horovod4j.elastic.Elastic#run] returns instead.
public final class DismissedException extends HorovodException {
    private static final long serialVersionUID = 1L;

    public DismissedException(String reason) {
        super(reason);
    }
}
