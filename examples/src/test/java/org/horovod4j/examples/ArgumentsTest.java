package org.horovod4j.examples;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;

class ArgumentsTest {
    @Test
    void givesWhatWasGivenAndElseTheDefaults(@TempDir Path folder) {
        Arguments given = new Arguments("--data", folder.toString(), "--fast", "--epochs", "7");

        assertThat(given.number("--epochs", 3, 1)).isEqualTo(7);
        assertThat(given.positive("--limit", 0.5)).isEqualTo(0.5);
        assertThat(given.folder("--data", Path.of("elsewhere"))).isEqualTo(folder);
        assertThat(given.path("--model", Path.of("model"))).isEqualTo(Path.of("model"));
        assertThat(given.flag("--fast")).isTrue();
        assertThat(given.flag("--slow")).isFalse();
        assertThat(given.complaint()).isEmpty();
    }

    @Test
    void anUnknownWordIsToldWithWhatIsKnown() {
        Arguments given = new Arguments("--epoch", "7");
        given.number("--epochs", 3, 1);
        given.flag("--fast");

        assertThat(given.complaint())
                .contains("cannot make sense of '--epoch'; options are --epochs N, --fast");
    }

    @Test
    void aNumberBelowTheLeastIsRefused() {
        Arguments given = new Arguments("--epochs", "0");
        given.number("--epochs", 3, 1);

        assertThat(given.complaint()).contains("--epochs needs a whole number from 1 on, not '0'");
    }

    @Test
    void aWordInPlaceOfANumberIsRefused() {
        Arguments given = new Arguments("--limit", "much", "--epochs", "1e3");
        given.positive("--limit", 1);
        given.number("--epochs", 3, 1);

        assertThat(given.complaint()).contains("--limit needs a number above 0, not 'much'");
    }

    @Test
    void noNumberAboveZeroIsInfinite() {
        Arguments given = new Arguments("--limit", "Infinity");
        given.positive("--limit", 1);

        assertThat(given.complaint()).contains("--limit needs a number above 0, not 'Infinity'");
    }

    @Test
    void aMissingValueIsTold() {
        Arguments given = new Arguments("--epochs");
        given.number("--epochs", 3, 1);

        assertThat(given.complaint()).contains("--epochs needs a whole number from 1 on after it");
    }

    @Test
    void aFolderMustBeThere(@TempDir Path folder) {
        String missing = folder.resolve("none").toString();
        Arguments given = new Arguments("--data", missing);
        given.folder("--data", Path.of("elsewhere"));

        assertThat(given.complaint())
                .contains("--data needs a folder that exists, not '%s'".formatted(missing));
    }
}
