package org.horovod4j.process;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.Hvd;

import java.io.File;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/// Runs a main class of the tests in a Java of its own, with flags that this one cannot have.
public final class ForkedJava {
    private ForkedJava() {}

    /// Returns what was printed.
    ///
    /// @param before what a shell is to do first
    public static String run(String before, Class<?> main, String... flags) throws Exception {
        List<String> command = new ArrayList<>();
        command.addAll(List.of("sh", "-c", before + "exec \"$0\" \"$@\""));
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(List.of(flags));
        command.addAll(List.of("-cp", location(Hvd.class) + File.pathSeparator + location(main)));
        command.add(main.getName());
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor()).as(output).isZero();
        return output.strip();
    }

    private static Path location(Class<?> type) throws Exception {
        return Path.of(type.getProtectionDomain().getCodeSource().getLocation().toURI());
    }
}
