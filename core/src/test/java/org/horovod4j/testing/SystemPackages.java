package org.horovod4j.testing;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/// Programs that a test needs and a machine may not have. They are installed if possible: on
/// Debian, as root.
public final class SystemPackages {
    /// The last lines of apt-get's output say why it failed.
    private static final int LAST_LINES = 5;

    private static boolean updated;

    private SystemPackages() {}

    /// Skips the test, with the reason, if the programs are missing and cannot be installed.
    public static void require(List<String> programs, List<String> packages)
            throws IOException, InterruptedException {
        String said =
                programs.stream().allMatch(SystemPackages::isInstalled) || !canInstall()
                        ? ""
                        : install(packages);
        List<String> missing = programs.stream().filter(each -> !isInstalled(each)).toList();
        assumeTrue(
                missing.isEmpty(),
                "not installed: %s; as root on Debian, apt-get install %s%s"
                        .formatted(missing, String.join(" ", packages), said));
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

    /// Updates the package lists once. Those of an image may be missing, or refer to files that no
    /// longer exist.
    private static synchronized String install(List<String> packages)
            throws IOException, InterruptedException {
        String said = "";
        if (!updated) {
            updated = true;
            said = aptGet("update");
        }
        List<String> words = new ArrayList<>(List.of("install", "-y", "--no-install-recommends"));
        words.addAll(packages);
        return said + aptGet(words.toArray(String[]::new));
    }

    /// @return the exit code and the last lines
    private static String aptGet(String... words) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of("apt-get"));
        command.addAll(List.of(words));
        ProcessBuilder builder = new ProcessBuilder(command);
        builder.environment().put("DEBIAN_FRONTEND", "noninteractive");
        Process process = builder.redirectErrorStream(true).start();
        process.getOutputStream().close();
        List<String> lines =
                new String(process.getInputStream().readAllBytes(), UTF_8).lines().toList();
        return "%n%s exited with %d:%n  %s"
                .formatted(
                        String.join(" ", command),
                        process.waitFor(),
                        String.join(
                                System.lineSeparator() + "  ",
                                lines.subList(
                                        Math.max(0, lines.size() - LAST_LINES), lines.size())));
    }
}
