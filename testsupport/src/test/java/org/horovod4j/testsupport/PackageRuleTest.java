package org.horovod4j.testsupport;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;

class PackageRuleTest {

    @Test
    void readsOnlyItsOwnLine() {
        PackageRule rule =
                PackageRule.parse(
                        "a.b",
                        """
                        /// Does `this`.
                        ///
                        /// - May depend on: `a`, `a.c..`.
                        /// - Invariant: `a.d` is not read.
                        package a.b;
                        """);
        assertThat(rule.mayDependOn()).containsExactly("a", "a.c..");
    }

    @Test
    void readsContinuationLines() {
        PackageRule rule =
                PackageRule.parse(
                        "a.b",
                        """
                        /// - May depend on: `a`,
                        ///   `a.c`,
                        ///   `a.d`.
                        ///
                        /// See `a.e`.
                        package a.b;
                        """);
        assertThat(rule.mayDependOn()).containsExactly("a", "a.c", "a.d");
    }

    @Test
    void jdkOnlyMeansNoDependencies() {
        assertThat(PackageRule.parse("a", "/// - May depend on: the JDK alone.\n").mayDependOn())
                .isEmpty();
    }

    @Test
    void refusesAListWithoutNames() {
        assertThatThrownBy(() -> PackageRule.parse("a.b", "/// - May depend on: whatever.\n"))
                .isInstanceOf(AssertionError.class)
                .hasMessageContaining("a.b")
                .hasMessageContaining("whatever");
    }

    @Test
    void refusesPackageWithoutDependencyLine(@TempDir Path sources) {
        assertThatThrownBy(() -> PackageRule.parse("a.b", "/// Text.\npackage a.b;\n"))
                .isInstanceOf(AssertionError.class)
                .hasMessageContaining("a.b");
        assertThatThrownBy(() -> PackageRule.read(sources, "a.b"))
                .isInstanceOf(AssertionError.class)
                .hasMessageContaining("no package-info.java");
    }
}
