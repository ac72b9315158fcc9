package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.horovod4j.Hvd;
import org.jspecify.annotations.NullMarked;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import picocli.CommandLine;

import java.io.File;
import java.lang.module.ModuleFinder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.spi.ToolProvider;
import java.util.stream.Stream;

/// A program of named modules that launches a function of its own.
class LauncherModuleIT {
    private static final String PROGRAM =
            """
            package com.example;

            import org.horovod4j.launcher.Launcher;

            public class Main {
                record Answer(int number, String module) {}

                public static void main(String[] arguments) {
                    int base = 5;
                    System.out.println(Launcher.run(2, comm ->
                            new Answer(base + comm.rank(), Main.class.getModule().getName())));
                }
            }
            """;

    @TempDir private Path folder;
    private String modulePath = "";

    /// The launcher's classes need a jar around them to become a module.
    @BeforeEach
    void makeModules() throws Exception {
        Path launcher = folder.resolve("horovod4j-launcher.jar");
        tool("jar", "-cf", launcher.toString(), "-C", place(Launcher.class).toString(), ".");
        modulePath =
                String.join(
                        File.pathSeparator,
                        Stream.of(
                                        launcher,
                                        place(Hvd.class),
                                        place(CommandLine.class),
                                        place(NullMarked.class))
                                .map(Path::toString)
                                .toList());
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
        String launcher =
                ModuleFinder.of(folder.resolve("horovod4j-launcher.jar")).findAll().stream()
                        .map(module -> module.descriptor().name())
                        .findFirst()
                        .orElseThrow();
        Files.writeString(
                folder.resolve("module-info.java"),
                "module app { requires %s; requires org.horovod4j.core; %s }"
                        .formatted(launcher, directive));
        Path classes = folder.resolve("classes");
        tool(
                "javac",
                "-proc:none",
                "-p",
                modulePath,
                "-d",
                classes.toString(),
                folder.resolve("module-info.java").toString(),
                folder.resolve("com/example/Main.java").toString());
        String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
        String modules = classes + File.pathSeparator + modulePath;
        List<String> command = List.of(java, "-p", modules, "-m", "app/com.example.Main");
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        return new String(process.getInputStream().readAllBytes(), UTF_8);
    }

    private static void tool(String name, String... arguments) {
        ToolProvider tool = ToolProvider.findFirst(name).orElseThrow();
        assertThat(tool.run(System.out, System.err, arguments)).isZero();
    }

    /// The folder or jar that a class is in.
    private static Path place(Class<?> type) throws Exception {
        return Path.of(type.getProtectionDomain().getCodeSource().getLocation().toURI());
    }
}
