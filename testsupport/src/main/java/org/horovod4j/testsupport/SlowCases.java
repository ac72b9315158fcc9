package org.horovod4j.testsupport;

import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.ArgumentsProvider;
import org.junit.jupiter.params.provider.ArgumentsSource;
import org.junit.jupiter.params.support.AnnotationConsumer;
import org.junit.jupiter.params.support.ParameterDeclarations;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.util.Arrays;
import java.util.stream.Stream;

/// More cases of a parameterized test, beside those of its other sources: they run with `-Pslow`
/// alone.
@Documented
@Target(ElementType.METHOD)
@Retention(RetentionPolicy.RUNTIME)
@ArgumentsSource(SlowCases.Provider.class)
public @interface SlowCases {
    /// The arguments of a case in each element, separated by commas.
    String[] value();

    /// Whether the slow tests run.
    boolean ENABLED = "all".equals(System.getProperty("horovod4j.cases"));

    /// Passes the cases on, or none.
    final class Provider implements ArgumentsProvider, AnnotationConsumer<SlowCases> {
        private String[] cases = {};

        @Override
        public void accept(SlowCases annotation) {
            cases = annotation.value();
        }

        @Override
        public Stream<? extends Arguments> provideArguments(
                ParameterDeclarations parameters, ExtensionContext context) {
            return Arrays.stream(ENABLED ? cases : new String[0])
                    .map(each -> Arguments.of((Object[]) each.split(",\\s*")));
        }
    }
}
