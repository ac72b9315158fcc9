package org.horovod4j.examples;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.Hvd;
import org.horovod4j.djl.HvdDjl;
import org.horovod4j.dl4j.HvdDl4j;
import org.horovod4j.launcher.HorovodRun;
import org.horovod4j.launcher.Launcher;
import org.horovod4j.libtorch.LibTorch;
import org.horovod4j.pytorch.HvdTorch;
import org.horovod4j.spark.HvdSpark;
import org.horovod4j.spark.djl.DjlEstimator;
import org.horovod4j.tensorflow.HvdTensorFlow;
import org.horovod4j.testsupport.TestJvm;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.lang.module.ModuleFinder;
import java.lang.module.ModuleReference;
import java.lang.reflect.Modifier;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/// Compares tables of `docs` that name our classes and methods with the classes themselves.
class ReferenceTablesTest {
    private static final Path DOCS = Path.of("../docs");

    /// The last cell of a row: on pages that compare, the Java side.
    private static final Pattern LAST_COLUMN = Pattern.compile("(?m)^\\|.*\\|([^|]*)\\|$");

    private static final Pattern MEMBER = Pattern.compile("`([A-Z]\\w+)\\.([a-zA-Z]\\w*)");

    /// Classes, their package and their artifact.
    private static final Pattern PACKAGE_ROW =
            Pattern.compile(
                    "(?m)^\\| (`[A-Z][^|]*`) \\| `(org\\.horovod4j[^`]*)` \\| ([\\w-]+) \\|$");

    /// In a line of `--help-all` that begins with flags.
    private static final Pattern FLAG =
            Pattern.compile("(?m)^ {2}(?: {4})?(?:-\\S+ )*?(--[a-z-]+)");

    private static final List<String> PACKAGES =
            List.of(
                    "org.horovod4j",
                    "org.horovod4j.compression",
                    "org.horovod4j.data",
                    "org.horovod4j.djl",
                    "org.horovod4j.djl.elastic",
                    "org.horovod4j.djl.training",
                    "org.horovod4j.dl4j",
                    "org.horovod4j.dl4j.training",
                    "org.horovod4j.elastic",
                    "org.horovod4j.launcher",
                    "org.horovod4j.spark",
                    "ai.djl",
                    "ai.djl.training");

    @ParameterizedTest
    @ValueSource(strings = {"coming-from-horovod.md", "coming-from-pytorch-ddp.md"})
    void everyMethodExists(String page) throws IOException {
        List<MatchResult> members =
                LAST_COLUMN
                        .matcher(Files.readString(DOCS.resolve(page)))
                        .results()
                        .flatMap(cell -> MEMBER.matcher(cell.group(1)).results())
                        .toList();
        assertThat(members).hasSizeGreaterThan(20);
        for (MatchResult member : members) {
            String type = member.group(1);
            assertThat(PACKAGES.stream().flatMap(each -> find(each + "." + type).stream()))
                    .as(member.group())
                    .anyMatch(found -> hasMember(found, member.group(2)));
        }
    }

    @Test
    void everyClassIsInThePackageThatTheInstallationPageGives() throws IOException {
        List<MatchResult> rows = packageRows();
        assertThat(rows).hasSizeGreaterThan(10);
        for (MatchResult row : rows) {
            for (String type : row.group(1).replace("`", "").split(", ", -1)) {
                assertThat(find(row.group(2) + "." + type))
                        .as("%s in %s", type, row.group(2))
                        .hasValueSatisfying(
                                found -> {
                                    assertThat(found).isPublic();
                                    assertThat(TestJvm.location(found).toString())
                                            .contains(row.group(3));
                                });
            }
        }
    }

    /// Nested types are found with the type around them.
    @Test
    void everyPublicClassIsOnTheInstallationPage() throws IOException {
        Set<String> listed = new HashSet<>();
        for (MatchResult row : packageRows()) {
            for (String type : row.group(1).replace("`", "").split(", ", -1)) {
                assertThat(listed.add(row.group(2) + "." + type)).as("%s once", type).isTrue();
            }
        }
        for (Class<?> each :
                List.of(
                        Hvd.class,
                        Launcher.class,
                        LibTorch.class,
                        HvdDjl.class,
                        HvdTorch.class,
                        HvdTensorFlow.class,
                        HvdDl4j.class,
                        HvdSpark.class,
                        DjlEstimator.class)) {
            assertThat(listed).containsAll(publicTypes(TestJvm.location(each)));
        }
    }

    @Test
    void everyFlagIsComparedWithHorovod() throws Exception {
        Process help =
                new ProcessBuilder(TestJvm.of(HorovodRun.class, "--help-all").shortLived().words())
                        .start();
        String text = new String(help.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(help.waitFor()).isZero();
        List<String> flags =
                FLAG.matcher(text).results().map(flag -> "`" + flag.group(1) + "`").toList();
        assertThat(flags).hasSizeGreaterThan(60);
        assertThat(Files.readString(DOCS.resolve("coming-from-horovod.md"))).contains(flags);
    }

    private static List<MatchResult> packageRows() throws IOException {
        return PACKAGE_ROW.matcher(Files.readString(DOCS.resolve("install.md"))).results().toList();
    }

    /// The public types of a jar or folder of classes, in the packages that it exports to all.
    private static List<String> publicTypes(Path location) throws IOException {
        Set<String> hidden = hiddenPackages(location);
        List<String> types;
        if (Files.isDirectory(location)) {
            types = types(location);
        } else {
            try (FileSystem jar = FileSystems.newFileSystem(location)) {
                types = types(jar.getPath("/"));
            }
        }
        return types.stream()
                .filter(type -> !hidden.contains(type.substring(0, type.lastIndexOf('.'))))
                .filter(
                        type ->
                                find(type)
                                        .filter(c -> Modifier.isPublic(c.getModifiers()))
                                        .isPresent())
                .toList();
    }

    private static List<String> types(Path root) throws IOException {
        try (Stream<Path> files = Files.walk(root)) {
            return files.map(file -> root.relativize(file).toString())
                    .filter(name -> name.startsWith("org/") && name.endsWith(".class"))
                    .filter(name -> !name.contains("$") && !name.endsWith("/package-info.class"))
                    .map(name -> name.replace(".class", "").replace('/', '.'))
                    .toList();
        }
    }

    /// Of an automatic module none.
    private static Set<String> hiddenPackages(Path location) {
        Set<String> hidden = new HashSet<>();
        for (ModuleReference module : ModuleFinder.of(location).findAll()) {
            hidden.addAll(module.descriptor().packages());
            if (module.descriptor().isAutomatic()) {
                hidden.clear();
            }
            module.descriptor().exports().stream()
                    .filter(exported -> !exported.isQualified())
                    .forEach(exported -> hidden.remove(exported.source()));
        }
        return hidden;
    }

    private static Optional<Class<?>> find(String name) {
        try {
            return Optional.of(
                    Class.forName(name, false, ReferenceTablesTest.class.getClassLoader()));
        } catch (ClassNotFoundException e) {
            return Optional.empty();
        }
    }

    private static boolean hasMember(Class<?> type, String name) {
        return Stream.concat(Stream.of(type.getMethods()), Stream.of(type.getFields()))
                .anyMatch(member -> member.getName().equals(name));
    }
}
