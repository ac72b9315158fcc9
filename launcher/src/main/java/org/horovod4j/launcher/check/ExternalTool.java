package org.horovod4j.launcher.check;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.horovod4j.launcher.process.SearchPath;

import java.io.File;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/// A command of another product, run to get information about it.
final class ExternalTool {
    private static final Duration TIMEOUT = Duration.ofSeconds(10);

    private final Path path;

    private ExternalTool(Path path) {
        this.path = path;
    }

    static Optional<ExternalTool> find(String name, SearchPath searchPath) {
        return searchPath.lookUp(name).map(ExternalTool::new);
    }

    Path path() {
        return path;
    }

    /// The lines it prints with these arguments.
    ///
    /// @throws IOException if it times out or fails
    List<String> run(String... arguments) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of(path.toString()));
        command.addAll(List.of(arguments));
        Process process =
                new ProcessBuilder(command)
                        .redirectErrorStream(true)
                        .redirectInput(new File("/dev/null"))
                        .start();
        try {
            // The output is far smaller than a pipe buffer, so it need not be read while the
            // process runs.
            if (!process.waitFor(TIMEOUT.toSeconds(), TimeUnit.SECONDS)) {
                throw new IOException("does not answer");
            }
            if (process.exitValue() != 0) {
                throw new IOException("fails with exit code " + process.exitValue());
            }
            String text = new String(process.getInputStream().readAllBytes(), UTF_8);
            return text.lines().filter(line -> !line.isBlank()).toList();
        } finally {
            process.destroyForcibly();
        }
    }
}
