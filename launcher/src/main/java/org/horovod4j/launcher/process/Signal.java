package org.horovod4j.launcher.process;

/// The signals that the launcher sends.
public enum Signal {
    INT(2),
    KILL(9),
    TERM(15);

    private final int number;

    Signal(int number) {
        this.number = number;
    }

    public int number() {
        return number;
    }

    @Override
    public String toString() {
        return "SIG" + name();
    }
}
