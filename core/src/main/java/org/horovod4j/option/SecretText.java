package org.horovod4j.option;

/// The secret of a job as it was given, which does not appear when its owner is printed.
public record SecretText(String text) {
    @Override
    public String toString() {
        return "(secret)";
    }
}
