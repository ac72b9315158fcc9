package org.horovod4j.runtime;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/// The names of the members of groups, `name_iofn` as in Horovod.
///
/// They are kept because every training step uses the same names, and a kept string also has its
/// hash.
final class GroupNames {
    /// Bounds the memory if a program invents new group names in each step.
    private static final int MAX_GROUPS = 256;

    private final Map<Group, String[]> members = new ConcurrentHashMap<>();

    private record Group(String name, int size) {}

    /// The names of a group. The array must not be changed.
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
