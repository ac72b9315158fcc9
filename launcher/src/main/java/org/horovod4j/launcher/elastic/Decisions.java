package org.horovod4j.launcher.elastic;

import java.util.ArrayList;
import java.util.List;

/// What is decided in answer to one event, in the order in which it is to be done.
final class Decisions {
    private List<Action> actions = new ArrayList<>();

    void add(Action action) {
        actions.add(action);
    }

    /// For every user.
    void say(String text) {
        actions.add(new Action.Say(text));
    }

    /// For users who want to know all.
    void explain(String text) {
        actions.add(new Action.Explain(text));
    }

    /// All since the last call.
    List<Action> take() {
        List<Action> taken = actions;
        actions = new ArrayList<>();
        return taken;
    }
}
