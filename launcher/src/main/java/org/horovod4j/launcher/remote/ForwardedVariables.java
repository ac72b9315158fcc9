package org.horovod4j.launcher.remote;

import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/// Selects the variables of the launcher's environment that processes on remote hosts get.
///
/// All except those that describe this machine, the user's account on it or this session: they
/// would be wrong there, and the host has its own. As in Horovod, the devices that are visible on
/// this machine say nothing about remote ones.
final class ForwardedVariables {
    private static final Set<String> SHELL = Set.of("OLDPWD", "SHLVL", "_");

    private static final Set<String> MACHINE = Set.of("HOST", "HOSTNAME");

    private static final Set<String> ACCOUNT = Set.of("HOME", "LOGNAME", "MAIL", "SHELL", "USER");

    private static final Set<String> SESSION =
            Set.of(
                    "DBUS_SESSION_BUS_ADDRESS",
                    "DISPLAY",
                    "SESSION_MANAGER",
                    "STY",
                    "TMUX",
                    "TMUX_PANE",
                    "WAYLAND_DISPLAY",
                    "WINDOWID",
                    "XAUTHORITY",
                    "XDG_RUNTIME_DIR");

    private ForwardedVariables() {}

    static Map<String, String> of(Map<String, String> environment) {
        Map<String, String> forwarded = new TreeMap<>(environment);
        forwarded.keySet().removeIf(ForwardedVariables::isLocal);
        return forwarded;
    }

    private static boolean isLocal(String name) {
        return name.startsWith("BASH_FUNC_")
                || name.startsWith("SSH_")
                || name.startsWith("XDG_SESSION_")
                || name.endsWith("CUDA_VISIBLE_DEVICES")
                || SHELL.contains(name)
                || MACHINE.contains(name)
                || ACCOUNT.contains(name)
                || SESSION.contains(name);
    }
}
