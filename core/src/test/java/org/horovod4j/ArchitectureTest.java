package org.horovod4j;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.lang.conditions.ArchConditions;

import org.horovod4j.testsupport.ModuleRules;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

import java.util.Set;
import java.util.stream.Stream;

class ArchitectureTest {
    private static final String KERNELS = "org.horovod4j.collectives.kernel";

    private static final ModuleRules RULES = ModuleRules.of(ArchitectureTest.class);

    @TestFactory
    Stream<DynamicTest> eachPackageUsesOnlyWhatItsPackageInfoNames() {
        return RULES.eachPackage();
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
                .check(RULES.classes());
    }

    @Test
    void onlyMainMethodsEndTheJvm() {
        noClasses()
                .should(
                        ArchConditions.callCodeUnitWhere(
                                DescribedPredicate.describe(
                                        "ends the JVM outside of a main method",
                                        call ->
                                                ENDS_THE_JVM.contains(
                                                                call.getTarget().getFullName())
                                                        && !call.getOrigin()
                                                                .getName()
                                                                .equals("main"))))
                .because("a library that ends the JVM takes the program's work with it")
                .check(RULES.classes());
    }

    private static final Set<String> ENDS_THE_JVM =
            Set.of(
                    "java.lang.System.exit(int)",
                    "java.lang.Runtime.exit(int)",
                    "java.lang.Runtime.halt(int)");

    @Test
    void onlyHvdDependsOnInternalPackages() {
        noClasses()
                .that()
                .resideInAPackage("org.horovod4j")
                .and(DescribedPredicate.not(ARE_PART_OF_HVD))
                .should()
                .dependOnClassesThat()
                .resideInAPackage("org.horovod4j.*..")
                .because("every package is built on the API's values; Hvd alone joins the two")
                .check(RULES.classes());
    }

    /// [Hvd] aside, which every rule above keeps from being used from below.
    @Test
    void packagesHaveNoCyclicDependencies() {
        RULES.checkCycles(ARE_PART_OF_HVD);
    }

    private static final DescribedPredicate<JavaClass> ARE_PART_OF_HVD =
            DescribedPredicate.describe(
                    "are part of Hvd",
                    type ->
                            type.getName().equals("org.horovod4j.Hvd")
                                    || type.getName().startsWith("org.horovod4j.Hvd$"));
}
