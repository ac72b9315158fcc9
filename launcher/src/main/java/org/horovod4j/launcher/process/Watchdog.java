package org.horovod4j.launcher.process;

import static java.nio.charset.StandardCharsets.UTF_8;

import sun.misc.Signal;
import sun.misc.SignalHandler;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/// The watchdog on a system without `sh` or `setsid`: ends the processes of one job when the launcher
/// has ended.
///
/// It reads the same lines as `watchdog.sh`. It finds the processes that the launcher has started and
/// their descendants. Java can neither read the environment of other processes nor signal a process
/// group, so a process whose parent has ended is not found.
final class Watchdog {
    private static final Duration GRACE_PERIOD = Duration.ofSeconds(5);

    /// By number. A handle knows when its process started, so it never stands for a later process with
    /// the same number.
    private final Map<Long, ProcessHandle> watched = new HashMap<>();

    Watchdog() {}

    /// The command that runs it: the JVM of the launcher, with the jar or folder of this class alone.
    static List<String> command() throws IOException {
        return List.of(
                JavaHome.current().java().toString(),
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-cp",
                ClassLocation.of(Watchdog.class).toString(),
                Watchdog.class.getName());
    }

    public static void main(String[] arguments) throws IOException {
        List.of("INT", "TERM", "HUP").forEach(Watchdog::ignore);
        new Watchdog().run(new BufferedReader(new InputStreamReader(System.in, UTF_8)));
    }

    /// Ctrl-C reaches all processes of a terminal, also this one.
    private static void ignore(String signal) {
        try {
            SignalHandler _ = Signal.handle(new Signal(signal), SignalHandler.SIG_IGN);
        } catch (IllegalArgumentException e) {
            // Windows does not have all of them. What cannot come need not be ignored.
        }
    }

    private void run(BufferedReader lines) throws IOException {
        String job = lines.readLine(); // only the script needs it
        String secrets = lines.readLine();
        if (job == null || secrets == null) {
            return; // the launcher has ended before anything was started
        }
        try {
            String line = lines.readLine();
            while (line != null && !line.equals("sweep")) {
                follow(line);
                line = lines.readLine();
            }
            end();
        } finally {
            delete(Path.of(secrets));
        }
    }

    void follow(String line) {
        if (line.startsWith("watch ")) {
            long number = Long.parseLong(line.substring("watch ".length()));
            ProcessHandle.of(number).ifPresent(process -> watched.put(number, process));
        } else if (line.startsWith("forget ")) {
            watched.remove(Long.valueOf(line.substring("forget ".length())));
        }
    }

    void end() {
        List<ProcessHandle> processes =
                watched.values().stream()
                        .filter(ProcessHandle::isAlive)
                        .flatMap(each -> Stream.concat(each.descendants(), Stream.of(each)))
                        .toList();
        processes.forEach(ProcessHandle::destroy);
        CompletableFuture.allOf(
                        processes.stream()
                                .map(ProcessHandle::onExit)
                                .toArray(CompletableFuture[]::new))
                .completeOnTimeout(null, GRACE_PERIOD.toMillis(), TimeUnit.MILLISECONDS)
                .join();
        processes.forEach(ProcessHandle::destroyForcibly);
    }

    /// The launcher may have removed the folder, or some of its files.
    private static void delete(Path folder) throws IOException {
        if (Files.isDirectory(folder)) {
            try (DirectoryStream<Path> files = Files.newDirectoryStream(folder)) {
                for (Path file : files) {
                    Files.deleteIfExists(file);
                }
            }
            Files.deleteIfExists(folder);
        }
    }
}
