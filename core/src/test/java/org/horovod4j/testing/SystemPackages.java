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

/// Programs that a test needs and a machine may lack: installed where that is possible, which is on
/// a Debian whose tests run as root.
public final class SystemPackages {
    /// Of what apt-get says, the end tells why it failed.
    private static final int LAST_LINES = 5;

    private static boolean updated;

    private SystemPackages() {}

    /// Skips the test, with the reason, when the programs are not there and cannot be installed.
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

    /// The lists of an image may be missing or so old that they name files that are gone; once is enough.
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

    /// @return how it ended, with its last lines
    private static String aptGet(String... words) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of("apt-get"));
        command.addAll(List.of(words));
        ProcessBuilder builder = new ProcessBuilder(command);
        builder.environment().put("DEBIAN_FRONTEND", "noninteractive");
        Process process = builder.redirectErrorStream(true).start();
        process.getOutputStream().close();
        List<String> lines =
                new String(process.getInputStream().readAllBytes(), UTF_8).lines().toList();
        return "%n%s ended with %d:%n  %s"
                .formatted(
                        String.join(" ", command),
                        process.waitFor(),
                        String.join(
                                System.lineSeparator() + "  ",
                                lines.subList(
                                        Math.max(0, lines.size() - LAST_LINES), lines.size())));
    }
}
