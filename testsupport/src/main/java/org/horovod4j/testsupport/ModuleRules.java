package org.horovod4j.testsupport;

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

import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/// The rules for the classes of one Maven module. Each `package-info.java` is a rule: its line
/// "May depend on" lists the packages that the package may use.
public final class ModuleRules {
    private static final List<String> ALLOWED_EVERYWHERE =
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

    /// The rules of the module that contains this test.
    public static ModuleRules of(Class<?> test) {
        return new ModuleRules(TestJvm.location(test).resolve("../..").normalize());
    }

    public JavaClasses classes() {
        return classes;
    }

    /// One test per package: it uses only the packages that its package-info lists.
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
                .resideInAnyPackage(rule.allowedWith(ALLOWED_EVERYWHERE))
                .because("its package-info.java lists what it may depend on")
                .check(classes);
    }

    /// Packages have no cyclic dependencies.
    ///
    /// @param exempt classes whose dependencies are ignored
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
