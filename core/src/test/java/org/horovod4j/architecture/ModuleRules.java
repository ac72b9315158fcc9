package org.horovod4j.architecture;

import static com.tngtech.archunit.base.DescribedPredicate.alwaysTrue;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.lang.syntax.ArchRuleDefinition;
import com.tngtech.archunit.library.dependencies.SliceAssignment;
import com.tngtech.archunit.library.dependencies.SliceIdentifier;

import org.junit.jupiter.api.DynamicTest;

import java.net.URISyntaxException;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/// The classes of one Maven module, held to what its packages say of themselves: each
/// `package-info.java` is a rule.
///
/// Other modules have this from the test jar of core.
public final class ModuleRules {
    private static final List<String> EVERYBODY_MAY_USE =
            List.of(
                    "java..",
                    "javax..",
                    "jdk..",
                    "com.sun.net.httpserver..",
                    "com.sun.management..",
                    "org.jspecify..");

    private final Path sources;
    private final JavaClasses classes;

    private ModuleRules(Path module) {
        this.sources = module.resolve("src/main/java");
        this.classes = new ClassFileImporter().importPath(module.resolve("target/classes"));
    }

    /// The rules of the module that has this test.
    public static ModuleRules of(Class<?> test) {
        try {
            Path testClasses =
                    Path.of(test.getProtectionDomain().getCodeSource().getLocation().toURI());
            return new ModuleRules(testClasses.resolve("../..").normalize());
        } catch (URISyntaxException e) {
            throw new AssertionError("The location of the test classes is no path", e);
        }
    }

    public JavaClasses classes() {
        return classes;
    }

    /// A test for each package: it uses only what its package-info names.
    public Stream<DynamicTest> eachPackage() {
        return classes.stream()
                .filter(type -> !type.getSimpleName().equals("package-info"))
                .map(JavaClass::getPackageName)
                .distinct()
                .sorted()
                .map(name -> DynamicTest.dynamicTest(name, () -> check(name)));
    }

    private void check(String packageName) {
        PackageRule rule = PackageRule.read(sources, packageName);
        ArchRuleDefinition.classes()
                .that()
                .resideInAPackage(packageName)
                .should()
                .onlyDependOnClassesThat()
                .resideInAnyPackage(rule.allowedWith(EVERYBODY_MAY_USE))
                .because("its package-info.java says so")
                .check(classes);
    }

    /// No two packages need each other.
    ///
    /// @param exempt classes whose needs do not count
    public void checkCycles(DescribedPredicate<JavaClass> exempt) {
        slices().assignedFrom(EACH_PACKAGE)
                .should()
                .beFreeOfCycles()
                .ignoreDependency(exempt, alwaysTrue())
                .check(classes);
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
}
