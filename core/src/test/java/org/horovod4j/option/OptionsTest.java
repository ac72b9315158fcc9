package org.horovod4j.option;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

class OptionsTest {
    @Test
    void allHoldsEveryDeclarationInOrder() throws IllegalAccessException {
        List<Object> declared = new ArrayList<>();
        for (Field field : Options.class.getFields()) {
            declared.add(field.get(null));
        }
        assertThat(Options.all()).map(Object.class::cast).containsExactlyElementsOf(declared);
    }

    @Test
    void noNameIsUsedTwice() {
        assertThat(Options.all().stream().flatMap(Option::names)).doesNotHaveDuplicates();
        assertThat(Options.all().stream().map(Option::flag).flatMap(Optional::stream))
                .doesNotHaveDuplicates();
    }

    @Test
    void namesAndHelpFollowOneForm() {
        assertThat(Options.all())
                .allSatisfy(
                        option -> {
                            assertThat(option.names())
                                    .allMatch(it -> it.matches("HOROVOD_[A-Z_]+"));
                            assertThat(option.flag().orElse("a")).matches("[a-z][a-z-]*");
                            assertThat(option.help()).matches("[A-Z].*\\.");
                        });
    }
}
