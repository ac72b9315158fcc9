package org.horovod4j.pytorch;

import com.tngtech.archunit.base.DescribedPredicate;

import org.horovod4j.testsupport.ModuleRules;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

import java.util.stream.Stream;

class ArchitectureTest {
    private static final ModuleRules RULES = ModuleRules.of(ArchitectureTest.class);

    @TestFactory
    Stream<DynamicTest> packagesUseOnlyDeclaredDependencies() {
        return RULES.eachPackage();
    }

    @Test
    void packagesHaveNoCycles() {
        RULES.checkCycles(DescribedPredicate.alwaysFalse());
    }
}
