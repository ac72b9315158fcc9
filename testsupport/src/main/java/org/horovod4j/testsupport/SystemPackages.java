package org.horovod4j.testsupport;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/// Programs that a test needs. Missing ones are installed where that is possible: on Debian, if the
/// tests run as root.
public final class SystemPackages {
    /// The last lines of apt-get's output give the reason of a failure.
    private static final int LAST_LINES = 5;

    private static boolean updated;

    private SystemPackages() {}

    /// Skips the test, with the reason, if the programs are missing and cannot be installed.
    public static void require(List<String> programs, List<String> packages)
            throws IOException, InterruptedException {
        String report =
                programs.stream().allMatch(SystemPackages::isInstalled) || !canInstall()
                        ? ""
                        : install(packages);
        List<String> missing = programs.stream().filter(program -> !isInstalled(program)).toList();
        assumeTrue(
                missing.isEmpty(),
                "not installed: %s; as root on Debian, apt-get install %s%s"
                        .formatted(missing, String.join(" ", packages), report));
    }

    public static boolean isRoot() {
        return "root".equals(System.getProperty("user.name"));
    }

    private static boolean canInstall() {
        return isRoot() && isInstalled("apt-get");
    }

    private static boolean isInstalled(String program) {
        String path = System.getenv().getOrDefault("PATH", "") + ":/usr/sbin:/sbin";
        return Arrays.stream(path.split(File.pathSeparator))
                .anyMatch(folder -> Files.isExecutable(Path.of(folder, program)));
    }

    /// The first call updates the package lists: those of a container image are missing or outdated.
    private static synchronized String install(List<String> packages)
            throws IOException, InterruptedException {
        String report = "";
        if (!updated) {
            updated = true;
            report = aptGet("update");
        }
        List<String> words = new ArrayList<>(List.of("install", "-y", "--no-install-recommends"));
        words.addAll(packages);
        return report + aptGet(words.toArray(String[]::new));
    }

    /// @return the exit code and the last lines of output
    private static String aptGet(String... words) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of("apt-get"));
        command.addAll(List.of(words));
        ProcessBuilder builder = new ProcessBuilder(command);
        builder.environment().put("DEBIAN_FRONTEND", "noninteractive");
        Process process = builder.redirectErrorStream(true).start();
        process.getOutputStream().close();
        List<String> lines =
                new String(process.getInputStream().readAllBytes(), UTF_8).lines().toList();
        return "%n%s: exit code %d:%n  %s"
                .formatted(
                        String.join(" ", command),
                        process.waitFor(),
                        String.join(
                                System.lineSeparator() + "  ",
                                lines.subList(
                                        Math.max(0, lines.size() - LAST_LINES), lines.size())));
    }
}
