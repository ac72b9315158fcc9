package org.horovod4j.testsupport;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

import java.util.stream.Stream;

/// The rules of this module, and those that concern the sources of all modules.
class ArchitectureTest {
    private static final SourceRules ALL_MODULES =
            SourceRules.ofRepositoryOf(ArchitectureTest.class);

    @TestFactory
    Stream<DynamicTest> eachPackageUsesOnlyWhatItsPackageInfoNames() {
        return ModuleRules.of(ArchitectureTest.class).eachPackage();
    }

    /// But the optimizer of each framework has the name that it has in Horovod.
    @Test
    void noTwoTypesHaveTheSameSimpleName() {
        assertThat(ALL_MODULES.ambiguousNames()).containsOnlyKeys("DistributedOptimizer");
    }

    @Test
    void noTypeHasTheNameOfAnEverydayJdkType() {
        assertThat(ALL_MODULES.namesOfTheJdk()).isEmpty();
    }

    @Test
    void everyPackageIsDocumented() {
        assertThat(ALL_MODULES.packagesWithoutDocumentation()).isEmpty();
    }
}
