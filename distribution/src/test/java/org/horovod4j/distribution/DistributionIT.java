package org.horovod4j.distribution;

import static org.assertj.core.api.Assertions.assertThat;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/// Unpacks the zip as a user does, and uses what is in it.
class DistributionIT {
    private static final Pattern CODE_BLOCK = Pattern.compile("(?sm)^ *```.*?^ *```");
    private static final Pattern LINK =
            Pattern.compile("\\]\\((?!https?:)([^)#]*)(?:#([^)]*))?\\)");
    private static final Pattern HEADING = Pattern.compile("(?m)^#+ (.*)$");
    private static final Pattern DEPENDENCY =
            Pattern.compile(
                    """
                    (?sx) <artifactId>([^<]+)</artifactId> \\s*
                    <version>([^<]+)</version> \\s* (?:<classifier>([^<]+)</classifier>)?\
                    """);

    @TempDir private static Path folder;
    private static Path root;

    @BeforeAll
    static void unpack() throws IOException {
        Path zip = only(Path.of("target"), "horovod4j-*.zip");
        try (FileSystem content =
                        FileSystems.newFileSystem(
                                zip, Map.of("enablePosixFileAttributes", "true"));
                Stream<Path> files = Files.walk(content.getPath("/"))) {
            for (Path file : files.toList()) {
                Path copy = folder.resolve(file.toString().substring(1));
                if (Files.isDirectory(file)) {
                    Files.createDirectories(copy);
                } else {
                    Files.copy(file, copy);
                    Files.setPosixFilePermissions(copy, Files.getPosixFilePermissions(file));
                }
            }
        }
        root = only(folder, "horovod4j-*");
    }

    private static Path only(Path folder, String glob) throws IOException {
        try (var found = Files.newDirectoryStream(folder, glob)) {
            List<Path> paths = new ArrayList<>();
            found.forEach(paths::add);
            assertThat(paths).as("%s in %s", glob, folder).hasSize(1);
            return paths.getFirst();
        }
    }

    @Test
    void allJarsAreThere() throws IOException {
        assertThat(names(root.resolve("lib")))
                .anyMatch(name -> name.startsWith("horovod4j-core-"))
                .anyMatch(name -> name.startsWith("horovod4j-launcher-"));
        assertThat(names(root.resolve("lib/djl")))
                .hasSize(2)
                .anyMatch(name -> name.startsWith("horovod4j-libtorch-"))
                .anyMatch(name -> name.startsWith("horovod4j-djl-"));
        assertThat(names(root.resolve("lib/pytorch")))
                .singleElement()
                .asString()
                .startsWith("horovod4j-pytorch-");
        assertThat(names(root.resolve("lib/tensorflow")))
                .singleElement()
                .asString()
                .startsWith("horovod4j-tensorflow-");
        assertThat(names(root.resolve("lib/dl4j")))
                .singleElement()
                .asString()
                .startsWith("horovod4j-dl4j-");
        assertThat(names(root.resolve("lib/spark")))
                .hasSize(2)
                .allMatch(name -> name.startsWith("horovod4j-spark-"))
                .anyMatch(name -> name.startsWith("horovod4j-spark-djl-"));
    }

    /// Includes links to sections.
    @Test
    void everyLinkOfEveryPageLeadsToAFile() throws IOException {
        List<String> broken = new ArrayList<>();
        int links = 0;
        try (Stream<Path> files = Files.walk(root)) {
            for (Path page : files.filter(file -> file.toString().endsWith(".md")).toList()) {
                String text = CODE_BLOCK.matcher(Files.readString(page)).replaceAll("");
                for (MatchResult link : LINK.matcher(text).results().toList()) {
                    links++;
                    if (!resolves(page, link.group(1), link.group(2))) {
                        broken.add(root.relativize(page) + ": " + link.group());
                    }
                }
            }
        }
        assertThat(broken).isEmpty();
        assertThat(links).isGreaterThan(200);
    }

    private static boolean resolves(Path page, String path, String section) throws IOException {
        Path target = path.isEmpty() ? page : page.resolveSibling(path).normalize();
        if (!target.startsWith(root) || !Files.exists(target)) {
            return false;
        }
        return section == null
                || HEADING.matcher(CODE_BLOCK.matcher(Files.readString(target)).replaceAll(""))
                        .results()
                        .anyMatch(heading -> anchor(heading.group(1)).equals(section));
    }

    /// The name of a section in links, as GitHub makes it.
    private static String anchor(String heading) {
        return heading.replaceAll("\\[([^]]*)\\]\\([^)]*\\)", "$1")
                .toLowerCase(Locale.ROOT)
                .replaceAll("[^\\p{L}\\p{N} _-]", "")
                .replace(' ', '-');
    }

    @Test
    void exampleRunsOnTwoRanks() throws Exception {
        String output = run(Map.of(), "examples/run.sh", "MnistByHand", "--epochs", "1");
        assertThat(output).contains("bin/horovodrun -np 2").contains("on each of 2 ranks");
    }

    @ParameterizedTest
    @CsvSource({
        "pom.xml, ../examples/target/lib",
        "pytorch.xml, ../frameworks/pytorch/target/lib",
    })
    void exampleLibrariesAreThoseOfTheBuild(String pom, Path folder) throws IOException {
        List<String> libraries = names(folder);
        List<MatchResult> dependencies =
                DEPENDENCY
                        .matcher(Files.readString(root.resolve("examples/libraries", pom)))
                        .results()
                        .filter(each -> !each.group(1).startsWith("horovod4j-"))
                        .filter(each -> !each.group(1).startsWith("maven-"))
                        .filter(each -> !each.group(1).startsWith("mxnet-")) // on request only
                        .toList();
        assertThat(dependencies).hasSizeGreaterThan(3);
        for (MatchResult dependency : dependencies) {
            String classifier = dependency.group(3) == null ? "" : "-" + dependency.group(3);
            assertThat(libraries)
                    .contains(
                            dependency.group(1) + "-" + dependency.group(2) + classifier + ".jar");
        }
    }

    /// Gets DJL and an engine by the wrapper of Maven, from the local repository of this build.
    @ParameterizedTest
    @ValueSource(strings = {"PyTorch", "MXNet"})
    @Tag("slow")
    void djlExampleGetsItsLibraries(String engine) throws Exception {
        String output =
                run(
                        Map.of("MAVEN_ARGS", "-o", "ENGINE", engine),
                        "examples/run.sh",
                        "Mnist",
                        "--epochs",
                        "1");
        assertThat(output)
                .contains("-Dai.djl.default_engine=" + engine)
                .contains("test accuracy")
                .contains("with 2 process(es)");
    }

    /// The same for PyTorch by Bytedeco, whose libraries have a folder of their own.
    @Test
    @Tag("slow")
    void pytorchExampleGetsItsLibraries() throws Exception {
        String output =
                run(Map.of("MAVEN_ARGS", "-o"), "examples/run.sh", "TorchMnist", "--epochs", "1");
        assertThat(output).contains("test accuracy").contains("with 2 process(es)");
        assertThat(names(root.resolve("examples/lib/pytorch")))
                .anyMatch(name -> name.startsWith("javacpp-"));
    }

    @Test
    void unknownEngineIsRejected() throws Exception {
        Process process = start(Map.of("ENGINE", "mxnet"), "examples/run.sh", "Mnist");
        assertThat(new String(process.getInputStream().readAllBytes(), UTF_8))
                .isEqualTo("run.sh: ENGINE is PyTorch or MXNet, not 'mxnet'\n");
        assertThat(process.waitFor()).isEqualTo(2);
    }

    private static List<String> names(Path folder) throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.map(file -> file.getFileName().toString())
                    .filter(name -> name.endsWith(".jar"))
                    .toList();
        }
    }

    /// What a command prints that runs in the unpacked folder. It must succeed.
    private static String run(Map<String, String> variables, String... command)
            throws IOException, InterruptedException {
        Process process = start(variables, command);
        String output = new String(process.getInputStream().readAllBytes(), UTF_8);
        assertThat(process.waitFor()).as(output).isZero();
        return output;
    }

    private static Process start(Map<String, String> variables, String... command)
            throws IOException {
        ProcessBuilder builder = new ProcessBuilder(command).directory(root.toFile());
        builder.environment().putAll(variables);
        // The caches of the user are none of the test's business.
        builder.environment().put("HOROVOD_CLASS_ARCHIVES", "none");
        return builder.redirectErrorStream(true).start();
    }
}
