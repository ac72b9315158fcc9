package org.horovod4j;

import static com.tngtech.archunit.base.DescribedPredicate.alwaysTrue;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.library.dependencies.SliceAssignment;
import com.tngtech.archunit.library.dependencies.SliceIdentifier;

import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

import java.net.URISyntaxException;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/// Holds the packages to what they say of themselves: each `package-info.java` is a rule.
class ArchitectureTest {

    private static final String KERNELS = "org.horovod4j.collectives.kernel";

    private static final List<String> EVERYBODY_MAY_USE =
            List.of(
                    "java..",
                    "javax..",
                    "jdk..",
                    "com.sun.net.httpserver..",
                    "com.sun.management..",
                    "org.jspecify..");

    private static final Path MODULE = module();

    private static final JavaClasses CLASSES =
            new ClassFileImporter().importPath(MODULE.resolve("target/classes"));

    @TestFactory
    Stream<DynamicTest> eachPackageUsesOnlyWhatItsPackageInfoNames() {
        return CLASSES.stream()
                .filter(type -> !type.getSimpleName().equals("package-info"))
                .map(JavaClass::getPackageName)
                .distinct()
                .sorted()
                .map(name -> DynamicTest.dynamicTest(name, () -> check(name)));
    }

    private static void check(String packageName) {
        PackageRule rule = PackageRule.read(MODULE.resolve("src/main/java"), packageName);
        classes()
                .that()
                .resideInAPackage(packageName)
                .should()
                .onlyDependOnClassesThat()
                .resideInAnyPackage(rule.allowedWith(EVERYBODY_MAY_USE))
                .because("its package-info.java says so")
                .check(CLASSES);
    }

    @Test
    void onlyKernelsUseTheVectorApi() {
        noClasses()
                .that()
                .resideOutsideOfPackage(KERNELS)
                .should()
                .dependOnClassesThat()
                .resideInAPackage("jdk.incubator.vector..")
                .because("it incubates and may change: one package keeps up with it")
                .allowEmptyShould(true)
                .check(CLASSES);
    }

    @Test
    void onlyHvdLooksDownFromWhatUsersSee() {
        noClasses()
                .that()
                .resideInAPackage("org.horovod4j")
                .and(areNotPartOf("org.horovod4j.Hvd"))
                .should()
                .dependOnClassesThat()
                .resideInAPackage("org.horovod4j.*..")
                .because("every package is built on the API's values; Hvd alone joins the two")
                .check(CLASSES);
    }

    /// [Hvd] aside, which every rule above keeps from being used from below.
    @Test
    void noTwoPackagesNeedEachOther() {
        slices().assignedFrom(EACH_PACKAGE)
                .should()
                .beFreeOfCycles()
                .ignoreDependency(
                        DescribedPredicate.not(areNotPartOf("org.horovod4j.Hvd")), alwaysTrue())
                .check(CLASSES);
    }

    private static final SliceAssignment EACH_PACKAGE =
            new SliceAssignment() {
                @Override
                public SliceIdentifier getIdentifierOf(JavaClass type) {
                    return type.getPackageName().startsWith("org.horovod4j")
                            ? SliceIdentifier.of(type.getPackageName())
                            : SliceIdentifier.ignore();
                }

                @Override
                public String getDescription() {
                    return "packages";
                }
            };

    private static DescribedPredicate<JavaClass> areNotPartOf(String topLevelClass) {
        return DescribedPredicate.describe(
                "are not part of " + topLevelClass,
                type ->
                        !type.getName().equals(topLevelClass)
                                && !type.getName().startsWith(topLevelClass + "$"));
    }

    /// The folder of this module, found from where this very class lies: `target/test-classes`.
    private static Path module() {
        try {
            Path testClasses =
                    Path.of(
                            ArchitectureTest.class
                                    .getProtectionDomain()
                                    .getCodeSource()
                                    .getLocation()
                                    .toURI());
            return testClasses.resolve("../..").normalize();
        } catch (URISyntaxException e) {
            throw new AssertionError("The location of the test classes is no path", e);
        }
    }
}
