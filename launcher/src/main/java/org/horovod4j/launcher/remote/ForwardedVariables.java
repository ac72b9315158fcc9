package org.horovod4j.launcher.remote;

import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;

/// Selects the variables of the launcher's environment that processes on remote hosts get.
///
/// All except those that describe this machine, the user's account on it or this session: they
/// would be wrong there, and the host has its own. As in Horovod, the devices that are visible on
/// this machine say nothing about remote ones.
final class ForwardedVariables {
    /// In this order: of the shell, the machine, the account, the session, an outer job.
    private static final Pattern LOCAL =
            Pattern.compile(
                    "_|OLDPWD|SHLVL|BASH_FUNC_.*"
                            + "|HOST|HOSTNAME|.*CUDA_VISIBLE_DEVICES"
                            + "|HOME|LOGNAME|MAIL|SHELL|USER"
                            + "|DBUS_SESSION_BUS_ADDRESS|DISPLAY|WAYLAND_DISPLAY|WINDOWID"
                            + "|XAUTHORITY|XDG_RUNTIME_DIR|XDG_SESSION_.*|SESSION_MANAGER"
                            + "|SSH_.*|STY|TMUX|TMUX_PANE"
                            + "|HOROVOD_SECRET_KEY|HOROVOD_SECRET_FILE",
                    Pattern.DOTALL);

    private ForwardedVariables() {}

    static Map<String, String> of(Map<String, String> environment) {
        Map<String, String> forwarded = new TreeMap<>(environment);
        forwarded.keySet().removeIf(name -> LOCAL.matcher(name).matches());
        return forwarded;
    }
}
