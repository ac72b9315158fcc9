package org.horovod4j.testsupport;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/// The rules of this module, and those that concern the sources of all modules.
class ArchitectureTest {
    private static final SourceRules ALL_MODULES =
            SourceRules.ofRepositoryOf(ArchitectureTest.class);

    @TestFactory
    Stream<DynamicTest> eachPackageUsesOnlyWhatItsPackageInfoNames() {
        return ModuleRules.of(ArchitectureTest.class).eachPackage();
    }

    /// But the optimizer of each framework has the name that it has in Horovod, and what does the same
    /// in several frameworks has one name.
    @Test
    void noTwoTypesHaveTheSameSimpleName() {
        assertThat(ALL_MODULES.ambiguousNames())
                .containsOnlyKeys(
                        "DistributedOptimizer",
                        "GradientSynchronizer",
                        "DifferentiableCollectives",
                        "SyncBatchNorm",
                        "Checkpoints",
                        "ProgressListener");
    }

    @Test
    void noTypeHasTheNameOfAnEverydayJdkType() {
        assertThat(ALL_MODULES.namesOfTheJdk()).isEmpty();
    }

    /// The distribution lists the source folders of all modules by hand.
    @Test
    void errorProneChecksAllModules() throws IOException {
        Path root = SourceRules.repositoryOf(ArchitectureTest.class);
        String checked = Files.readString(root.resolve("distribution/pom.xml"));
        Matcher modules =
                Pattern.compile("<module>(.*)</module>")
                        .matcher(Files.readString(root.resolve("pom.xml")));
        while (modules.find()) {
            for (String sources : List.of("src/main/java", "src/test/java")) {
                String folder = modules.group(1) + "/" + sources;
                if (Files.isDirectory(root.resolve(folder))) {
                    assertThat(checked).contains("/../" + folder + "<");
                }
            }
        }
    }

    @Test
    void everyPackageIsDocumented() {
        assertThat(ALL_MODULES.packagesWithoutDocumentation()).isEmpty();
    }
}
