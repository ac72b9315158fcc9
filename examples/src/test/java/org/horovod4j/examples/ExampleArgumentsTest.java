package org.horovod4j.examples;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;
import java.util.List;

class ExampleArgumentsTest {
    @Test
    void returnsGivenValuesOrDefaults(@TempDir Path folder) {
        ExampleArguments given =
                new ExampleArguments("--data", folder.toString(), "--fast", "--epochs", "7");

        assertThat(given.number("--epochs", 3, 1)).isEqualTo(7);
        assertThat(given.positive("--limit", 0.5)).isEqualTo(0.5);
        assertThat(given.folder("--data", Path.of("elsewhere"))).isEqualTo(folder);
        assertThat(given.path("--model", Path.of("model"))).isEqualTo(Path.of("model"));
        assertThat(given.flag("--fast")).isTrue();
        assertThat(given.flag("--slow")).isFalse();
        assertThat(given.error()).isEmpty();
    }

    @Test
    void returnsOneOfSomeValues() {
        ExampleArguments given = new ExampleArguments("--model", "vgg16", "--next", "vgg");
        List<BenchmarkModel> models = List.of(BenchmarkModel.values());
        assertThat(given.oneOf("--model", models.getFirst(), models, BenchmarkModel::option))
                .isEqualTo(BenchmarkModel.VGG16);
        given.oneOf("--next", models.getFirst(), models, BenchmarkModel::option);

        assertThat(given.error())
                .contains(
                        "--next needs one of resnet50, resnet101, inception_v3, vgg16, not 'vgg'");
    }

    @Test
    void unknownArgumentErrorListsKnownOptions() {
        ExampleArguments given = new ExampleArguments("--epoch", "7");
        given.number("--epochs", 3, 1);
        given.flag("--fast");

        assertThat(given.error())
                .contains("cannot make sense of '--epoch'; options are --epochs N, --fast");
    }

    @Test
    void numberBelowMinimumIsRejected() {
        ExampleArguments given = new ExampleArguments("--epochs", "0");
        given.number("--epochs", 3, 1);

        assertThat(given.error()).contains("--epochs needs a whole number from 1 on, not '0'");
    }

    @Test
    void nonNumericValueIsRejected() {
        ExampleArguments given = new ExampleArguments("--limit", "much", "--epochs", "1e3");
        given.positive("--limit", 1);
        given.number("--epochs", 3, 1);

        assertThat(given.error()).contains("--limit needs a number above 0, not 'much'");
    }

    @Test
    void infinityIsNotAPositiveNumber() {
        ExampleArguments given = new ExampleArguments("--limit", "Infinity");
        given.positive("--limit", 1);

        assertThat(given.error()).contains("--limit needs a number above 0, not 'Infinity'");
    }

    @Test
    void missingValueIsReported() {
        ExampleArguments given = new ExampleArguments("--epochs");
        given.number("--epochs", 3, 1);

        assertThat(given.error()).contains("--epochs needs a whole number from 1 on after it");
    }

    @Test
    void missingFolderIsRejected(@TempDir Path folder) {
        String missing = folder.resolve("none").toString();
        ExampleArguments given = new ExampleArguments("--data", missing);
        given.folder("--data", Path.of("elsewhere"));

        assertThat(given.error())
                .contains("--data needs a folder that exists, not '%s'".formatted(missing));
    }
}
