package org.horovod4j.launcher.output;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.function.Predicate;

/// What happens to each line of standard error: one unwanted line is dropped, once; the rest is
/// printed and remembered.
final class StderrLineFilter implements Predicate<byte[]> {
    private final LastLines lastLines;
    private final String unwanted;
    private boolean dropped;

    StderrLineFilter(LastLines lastLines, String unwanted) {
        this.lastLines = lastLines;
        this.unwanted = unwanted;
        this.dropped = unwanted.isEmpty();
    }

    @Override
    public boolean test(byte[] bytes) {
        String line = new String(bytes, UTF_8).stripTrailing();
        if (!dropped && line.equals(unwanted)) {
            dropped = true;
            return false;
        }
        lastLines.add(line);
        return true;
    }
}
