package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.horovod4j.Hvd;
import org.horovod4j.testsupport.TestJvm;
import org.jspecify.annotations.NullMarked;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.snakeyaml.engine.v2.api.LoadSettings;

import picocli.CommandLine;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.spi.ToolProvider;

/// A program of named modules launches one of its functions, with Horovod4J on the module path.
class LauncherModuleIT {
    private static final String PROGRAM =
            """
            package com.example;

            import org.horovod4j.launcher.Launcher;
            import java.util.List;

            public class Main {
                record Answer(int number, String module) {}

                public static void main(String[] arguments) {
                    int base = 5;
                    Launcher launcher =
                            Launcher.processes(2).jvmOptions(List.of("-XX:-UsePerfData"));
                    System.out.println(launcher.run(comm ->
                            new Answer(base + comm.rank(), Main.class.getModule().getName())));
                }
            }
            """;

    @TempDir private Path folder;
    private String modulePath = "";

    @BeforeEach
    void writeProgram() throws Exception {
        modulePath =
                String.join(
                        File.pathSeparator,
                        location(Launcher.class),
                        location(Hvd.class),
                        location(CommandLine.class),
                        location(LoadSettings.class),
                        location(NullMarked.class));
        Files.createDirectories(folder.resolve("com/example"));
        Files.writeString(folder.resolve("com/example/Main.java"), PROGRAM);
    }

    @Test
    void openPackageIsSufficient() throws Exception {
        assertThat(outputOfProgram("opens com.example;"))
                .isEqualTo("[Answer[number=5, module=app], Answer[number=6, module=app]]\n");
    }

    @Test
    void closedPackageIsReportedWithFix() throws Exception {
        assertThat(outputOfProgram(""))
                .contains("the function of com.example.Main is closed to Horovod4J by its module")
                .contains("Add 'opens com.example;' to the module-info of app.");
    }

    private String outputOfProgram(String directive) throws Exception {
        Files.writeString(
                folder.resolve("module-info.java"),
                "module app { requires org.horovod4j.launcher; %s }".formatted(directive));
        Path classes = folder.resolve("classes");
        int status =
                ToolProvider.findFirst("javac")
                        .orElseThrow()
                        .run(
                                System.out,
                                System.err,
                                "-proc:none",
                                "-p",
                                modulePath,
                                "-d",
                                classes.toString(),
                                folder.resolve("module-info.java").toString(),
                                folder.resolve("com/example/Main.java").toString());
        assertThat(status).isZero();
        String modules = classes + File.pathSeparator + modulePath;
        List<String> command =
                List.of(
                        TestJvm.JAVA,
                        TestJvm.NO_PERFORMANCE_DATA,
                        "-p",
                        modules,
                        "-m",
                        "app/com.example.Main");
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        return new String(process.getInputStream().readAllBytes(), UTF_8);
    }

    /// The folder or jar of a class.
    private static String location(Class<?> type) throws Exception {
        return Path.of(type.getProtectionDomain().getCodeSource().getLocation().toURI()).toString();
    }
}
