package org.horovod4j.launcher.driver;

import java.util.ArrayList;
import java.util.List;

/// The actions decided for one event, in order.
final class PendingActions {
    private List<DriverAction> actions = new ArrayList<>();

    void add(DriverAction driverAction) {
        actions.add(driverAction);
    }

    /// Prints a message.
    void info(String text) {
        actions.add(new DriverAction.Info(text));
    }

    /// Prints a message if `--verbose` is given.
    void verbose(String text) {
        actions.add(new DriverAction.Verbose(text));
    }

    /// Removes and returns all actions.
    List<DriverAction> drain() {
        List<DriverAction> taken = actions;
        actions = new ArrayList<>();
        return taken;
    }
}
