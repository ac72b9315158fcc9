package org.horovod4j.process;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/// Programs that a test needs and a machine may lack: installed where that is possible, which is on
/// a Debian whose tests run as root.
final class Packages {
    private Packages() {}

    /// Skips the test, with the reason, when the programs are not there and cannot be installed.
    static void require(List<String> programs, List<String> packages)
            throws IOException, InterruptedException {
        if (!programs.stream().allMatch(Packages::isThere) && canInstall()) {
            List<String> command =
                    new ArrayList<>(List.of("apt-get", "install", "-y", "--no-install-recommends"));
            command.addAll(packages);
            ProcessBuilder builder = new ProcessBuilder(command);
            builder.environment().put("DEBIAN_FRONTEND", "noninteractive");
            builder.redirectErrorStream(true);
            builder.redirectOutput(ProcessBuilder.Redirect.DISCARD).start().waitFor();
        }
        List<String> missing = programs.stream().filter(each -> !isThere(each)).toList();
        assumeTrue(
                missing.isEmpty(),
                "not installed: %s; as root on Debian, apt-get install %s"
                        .formatted(missing, String.join(" ", packages)));
    }

    static boolean isRoot() {
        return "root".equals(System.getProperty("user.name"));
    }

    private static boolean canInstall() {
        return isRoot() && isThere("apt-get");
    }

    private static boolean isThere(String program) {
        String path = System.getenv().getOrDefault("PATH", "") + ":/usr/sbin:/sbin";
        return Arrays.stream(path.split(File.pathSeparator))
                .anyMatch(folder -> Files.isExecutable(Path.of(folder, program)));
    }
}
