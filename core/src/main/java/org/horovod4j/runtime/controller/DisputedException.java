package org.horovod4j.runtime.controller;

import org.horovod4j.HorovodException;

/// Another rank has found that the ranks disagree about the operation now running here. Never reaches
/// the user: the controller asks everybody what they meant.
final class DisputedException extends HorovodException {
    private static final long serialVersionUID = 1L;

    DisputedException() {
        super("the operation is disputed");
    }
}
