package org.horovod4j.benchmarks.report;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Locale;

/// One line of results: the time of one program for one size in one turn, in microseconds.
///
/// The text form is `program@transport,np,size,round,turn,median_us,p10_us,p90_us`. The C and Python
/// programs write it too.
///
/// @param round the round of jobs, from 1. Programs of one round ran one after the other.
/// @param turn the turn within the job, from 1; 1 if programs do not take turns in a job
public record Result(
        String program,
        String transport,
        int np,
        long byteSize,
        int round,
        int turn,
        Percentiles micros) {
    private static final int FIELDS = 8;

    public static List<Result> readAll(Path file) throws IOException {
        return Files.readAllLines(file).stream().map(Result::parse).toList();
    }

    public static Result parse(String line) {
        String[] fields = line.split(",", -1);
        String[] name = fields[0].split("@", -1);
        if (fields.length != FIELDS || name.length != 2) {
            throw new IllegalArgumentException(
                    "this is no line 'program@transport,np,size,round,turn,median_us,p10_us,p90_us': '%s'"
                            .formatted(line));
        }
        return new Result(
                name[0],
                name[1],
                Integer.parseInt(fields[1]),
                Long.parseLong(fields[2]),
                Integer.parseInt(fields[3]),
                Integer.parseInt(fields[4]),
                new Percentiles(
                        Double.parseDouble(fields[5]),
                        Double.parseDouble(fields[6]),
                        Double.parseDouble(fields[7])));
    }

    public String toLine() {
        return String.format(
                Locale.ROOT,
                "%s@%s,%d,%d,%d,%d,%.3f,%.3f,%.3f",
                program,
                transport,
                np,
                byteSize,
                round,
                turn,
                micros.median(),
                micros.p10(),
                micros.p90());
    }

    /// Appends this line to the results of earlier rounds.
    public void appendTo(Path file) throws IOException {
        Files.writeString(
                file, toLine() + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    }
}
