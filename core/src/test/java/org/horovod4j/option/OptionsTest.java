package org.horovod4j.option;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;

class OptionsTest {
    @Test
    void allHoldsEveryDeclarationInOrder() throws IllegalAccessException {
        List<Object> declared = new ArrayList<>();
        for (Class<?> declarations :
                List.of(
                        Options.class,
                        ElasticOptions.class,
                        RuntimeOptions.class,
                        BackendOptions.class)) {
            for (Field field : declarations.getFields()) {
                declared.add(field.get(null));
            }
        }
        assertThat(Options.all()).map(Object.class::cast).containsExactlyElementsOf(declared);
    }

    @Test
    void noNameIsUsedTwice() {
        assertThat(Options.all().stream().flatMap(option -> option.names().stream()))
                .doesNotHaveDuplicates();
        assertThat(
                        Options.all().stream()
                                .flatMap(option -> option.flags().stream())
                                .map(Flag::name))
                .doesNotHaveDuplicates();
    }

    @Test
    void namesAndHelpFollowOneForm() {
        assertThat(Options.all())
                .allSatisfy(
                        option -> {
                            assertThat(option.names())
                                    .allMatch(it -> it.matches("HOROVOD_[A-Z_]+"));
                            assertThat(option.flags().stream().map(Flag::name))
                                    .allMatch(it -> it.matches("[a-z][a-z-]*"));
                            assertThat(option.help()).matches("[A-Z].*\\.");
                        });
    }
}
