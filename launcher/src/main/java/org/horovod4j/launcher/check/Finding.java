package org.horovod4j.launcher.check;

/// A line of the report.
///
/// @param detail which one, or why not; may be empty
record Finding(boolean isPresent, String what, String detail) {
    static Finding found(String what, String detail) {
        return new Finding(true, what, detail);
    }

    static Finding missing(String what, String reason) {
        return new Finding(false, what, reason);
    }

    @Override
    public String toString() {
        return "    [%s] %s%s"
                .formatted(isPresent ? "X" : " ", what, detail.isEmpty() ? "" : ": " + detail);
    }
}
