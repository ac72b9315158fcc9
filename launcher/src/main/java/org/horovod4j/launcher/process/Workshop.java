package org.horovod4j.launcher.process;

import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionStage;

/// Where JVMs work for the launcher rather than for the user: they say nothing, and end with the job
/// they serve.
///
/// @param java that they run
/// @param jobVariable by which the job's watchdog knows them, in the form `NAME=value`
/// @param givenUp when complete, they are ended
record Workshop(Path java, String jobVariable, CompletionStage<?> givenUp) {
    /// How long one may take: some seconds are usual for programs of ten thousand classes.
    private static final Duration PATIENCE = Duration.ofMinutes(1);

    /// Whether a JVM with these arguments has ended well.
    boolean run(List<String> arguments) throws IOException {
        List<String> command = new ArrayList<>();
        command.add(java.toString());
        command.addAll(arguments);
        ProcessBuilder builder =
                new ProcessBuilder(command)
                        .redirectOutput(Redirect.DISCARD)
                        .redirectError(Redirect.DISCARD);
        Map<String, String> variables = builder.environment();
        variables.keySet().removeIf(name -> name.startsWith("HOROVOD_"));
        String[] mark = jobVariable.split("=", 2);
        variables.put(mark[0], mark[1]);
        return endsWell(builder.start());
    }

    private boolean endsWell(Process process) {
        var _ = givenUp.thenRun(process::destroyForcibly);
        try {
            return process.waitFor(PATIENCE) && process.exitValue() == 0;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        } finally {
            process.destroyForcibly();
        }
    }
}
