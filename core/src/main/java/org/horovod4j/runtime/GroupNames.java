package org.horovod4j.runtime;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/// The names of groups' members, `name_iofn` as Horovod calls them.
///
/// They are kept, because a training step asks for the same ones each time, and a name that was
/// seen before is also found faster: its hash is known.
final class GroupNames {
    /// A program that makes up new group names for ever must not fill the memory.
    private static final int MAX_GROUPS = 256;

    private final Map<Group, String[]> members = new ConcurrentHashMap<>();

    private record Group(String name, int size) {}

    /// Must not be changed.
    String[] of(String name, int size) {
        if (members.size() > MAX_GROUPS) {
            members.clear();
        }
        return members.computeIfAbsent(new Group(name, size), GroupNames::make);
    }

    private static String[] make(Group group) {
        String[] names = new String[group.size];
        for (int i = 0; i < group.size; i++) {
            names[i] = group.name + "_" + (i + 1) + "of" + group.size;
        }
        return names;
    }
}
