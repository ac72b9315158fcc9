package org.horovod4j.launcher.process;

import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionStage;

/// Runs JVMs that work for the launcher: they print nothing, and end with the job.
///
/// @param jobVariable marks them as processes of the job for the watchdog, in the form `NAME=value`
/// @param cancellation when complete, they are killed
record HelperJvm(Path java, String jobVariable, CompletionStage<?> cancellation) {
    /// How long one may run. A program of ten thousand classes takes some seconds.
    private static final Duration TIMEOUT = Duration.ofMinutes(1);

    /// Runs a JVM with these arguments, and returns whether it exited with 0.
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
        return succeeds(builder.start());
    }

    private boolean succeeds(Process process) {
        var _ = cancellation.thenRun(process::destroyForcibly);
        try {
            return process.waitFor(TIMEOUT) && process.exitValue() == 0;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        } finally {
            process.destroyForcibly();
        }
    }
}
