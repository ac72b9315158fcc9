package org.horovod4j.benchmarks;

import java.util.Locale;

/// One line of results: what one program needed for one size in one round, in microseconds.
///
/// As text `program@transport,np,size,median_us,p10_us,p90_us`, which the peers write too.
record Result(String program, String transport, int np, long byteSize, Spread micros) {
    private static final int FIELDS = 6;

    static Result parse(String line) {
        String[] fields = line.split(",", -1);
        String[] name = fields[0].split("@", -1);
        if (fields.length != FIELDS || name.length != 2) {
            throw new IllegalArgumentException(
                    "this is no line 'program@transport,np,size,median_us,p10_us,p90_us': '%s'"
                            .formatted(line));
        }
        return new Result(
                name[0],
                name[1],
                Integer.parseInt(fields[1]),
                Long.parseLong(fields[2]),
                new Spread(
                        Double.parseDouble(fields[3]),
                        Double.parseDouble(fields[4]),
                        Double.parseDouble(fields[5])));
    }

    String toLine() {
        return String.format(
                Locale.ROOT,
                "%s@%s,%d,%d,%.3f,%.3f,%.3f",
                program,
                transport,
                np,
                byteSize,
                micros.median(),
                micros.p10(),
                micros.p90());
    }
}
