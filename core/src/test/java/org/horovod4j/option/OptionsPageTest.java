package org.horovod4j.option;

import static org.assertj.core.api.Assertions.assertThat;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/// Keeps `docs/options.md` true to the declarations, and writes it when asked to.
class OptionsPageTest {
    private static final String SWITCH = "horovod4j.regenerate";
    private static final String COMMAND =
            "./mvnw -Dquick -pl core test -Dtest=OptionsPageTest -D" + SWITCH + "=true";

    @Test
    void thePageIsCurrent() throws IOException {
        Path page = docs().resolve("options.md");
        String wanted = OptionsPage.render(COMMAND);
        if (Boolean.getBoolean(SWITCH)) {
            Files.writeString(page, wanted);
        }
        assertThat(page)
                .as("docs/options.md, which this makes again: %s", COMMAND)
                .hasContent(wanted);
    }

    /// The docs of this repository, from whichever folder of it the tests run in.
    private static Path docs() {
        for (@Nullable Path folder = Path.of("").toAbsolutePath();
                folder != null;
                folder = folder.getParent()) {
            if (Files.isDirectory(folder.resolve("docs"))) {
                return folder.resolve("docs");
            }
        }
        throw new AssertionError("run this test inside the repository");
    }
}
