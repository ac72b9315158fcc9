package org.horovod4j.launcher.driver;

import java.util.ArrayList;
import java.util.List;

/// What is decided in answer to one event, in the order in which it is to be done.
final class PendingActions {
    private List<DriverAction> actions = new ArrayList<>();

    void add(DriverAction driverAction) {
        actions.add(driverAction);
    }

    /// For every user.
    void info(String text) {
        actions.add(new DriverAction.Info(text));
    }

    /// For users who want to know all.
    void verbose(String text) {
        actions.add(new DriverAction.Verbose(text));
    }

    /// All since the last call.
    List<DriverAction> drain() {
        List<DriverAction> taken = actions;
        actions = new ArrayList<>();
        return taken;
    }
}
