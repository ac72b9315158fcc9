package org.horovod4j.launcher.driver;

/// A process of an elastic job. Its rank changes from generation to generation; this does not.
///
/// @param number counted up with each start, so that the lowest is the oldest
/// @param host the name of its host
/// @param slot its number among the slots of that host; no two live workers share one
public record Worker(int number, String host, int slot) {
    @Override
    public String toString() {
        return "worker %d on %s".formatted(number, host);
    }
}
