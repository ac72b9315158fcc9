package org.horovod4j.launcher.command;

import org.horovod4j.launcher.file.YamlNode;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/// A `riseml.yml` written for RiseML. The training runs without a RiseML cluster.
///
/// RiseML built an image and installed packages before a run. Here the user provides them; a
/// message says so.
final class RiseMlFile {
    static final String TRAIN = "train";

    private static final List<String> TRAIN_KEYS =
            List.of(
                    "framework",
                    "tensorflow",
                    "image",
                    "install",
                    "resources",
                    "run",
                    "parameters",
                    "concurrency");

    private static final List<String> TENSORFLOW_KEYS =
            List.of("version", "tensorboard", "horovod", "distributed");

    private RiseMlFile() {}

    static JobFile read(YamlNode.Mapping root) {
        root.requireKnownKeys(List.of("project", "description", TRAIN));
        if (root.find(TRAIN).isEmpty()) {
            throw root.error("there is nothing under train.");
        }
        YamlNode.Mapping train = root.section(TRAIN, TRAIN_KEYS);
        YamlNode.Mapping tensorflow = train.section("tensorflow", TENSORFLOW_KEYS);
        refuseUnsupported(train, tensorflow);
        YamlNode.Mapping horovod = tensorflow.section("horovod", List.of("workers"));
        return new JobFile(
                JobFileReader.name(root, train),
                JobFileReader.workers(horovod.find("workers"), train),
                List.of(),
                false,
                null,
                Map.of(),
                JobFileReader.commands(train),
                Map.of(),
                notices(train, tensorflow));
    }

    private static void refuseUnsupported(YamlNode.Mapping train, YamlNode.Mapping tensorflow) {
        YamlNode search = train.find("parameters").orElse(null);
        if (search != null) {
            throw search.error(
                    "a search over parameters is not supported. Remove it, and write the values"
                            + " into run.");
        }
        YamlNode servers = tensorflow.find("distributed").orElse(null);
        if (servers != null && !(servers instanceof YamlNode.Scalar && !servers.asBoolean())) {
            throw servers.error(
                    "parameter servers are not supported. Use tensorflow.horovod.workers.");
        }
    }

    private static List<String> notices(YamlNode.Mapping train, YamlNode.Mapping tensorflow) {
        List<String> notices = new ArrayList<>();
        for (String key : List.of("image", "install")) {
            train.find(key)
                    .map(
                            node ->
                                    node.location()
                                            + ": has no effect; the program runs with what is installed here.")
                    .ifPresent(notices::add);
        }
        tensorflow
                .find("tensorboard")
                .filter(YamlNode::asBoolean)
                .map(node -> node.location() + ": has no effect; start it yourself.")
                .ifPresent(notices::add);
        return notices;
    }
}
