package org.horovod4j.launcher.command;

import org.horovod4j.ConfigurationException;

import picocli.AutoComplete;
import picocli.CommandLine;

import java.util.List;

/// The script that lets a shell complete our flags. One serves both shells: in zsh it switches the
/// emulation of bash's completion on by itself.
final class ShellCompletion {
    static final List<String> SHELLS = List.of("bash", "zsh");

    private ShellCompletion() {}

    static String script(CommandLine commandLine, String shell) {
        if (!SHELLS.contains(shell)) {
            throw new ConfigurationException(
                    "%s: '%s' is not a shell that horovodrun can complete for. Give bash or zsh."
                            .formatted(LauncherFlag.COMPLETION, shell));
        }
        return AutoComplete.bash("horovodrun", commandLine);
    }
}
