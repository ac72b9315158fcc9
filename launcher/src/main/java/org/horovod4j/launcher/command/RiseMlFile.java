package org.horovod4j.launcher.command;

import org.horovod4j.launcher.yaml.YamlNode;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

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

    private RiseMlFile() {}

    static JobFile read(YamlNode.Mapping root) {
        root.requireKnownKeys(List.of("project", "description", TRAIN));
        YamlNode.Mapping train =
                root.find(TRAIN)
                        .orElseThrow(() -> root.location().error("there is nothing under train."))
                        .asMapping();
        train.requireKnownKeys(TRAIN_KEYS);
        train.find("parameters").ifPresent(RiseMlFile::refuseSearch);
        Optional<YamlNode.Mapping> tensorflow = train.find("tensorflow").map(YamlNode::asMapping);
        tensorflow.ifPresent(RiseMlFile::check);
        return new JobFile(
                JobFile.name(root, train),
                JobFileWorkers.of(
                        tensorflow.flatMap(RiseMlFile::workers),
                        JobFileResources.of(train.find("resources"))),
                List.of(),
                Map.of(),
                JobFileCommands.of(train),
                Map.of(),
                notices(train, tensorflow));
    }

    private static Optional<YamlNode> workers(YamlNode.Mapping tensorflow) {
        return tensorflow
                .find("horovod")
                .map(YamlNode::asMapping)
                .flatMap(
                        horovod -> {
                            horovod.requireKnownKeys(List.of("workers"));
                            return horovod.find("workers");
                        });
    }

    private static void check(YamlNode.Mapping tensorflow) {
        tensorflow.requireKnownKeys(List.of("version", "tensorboard", "horovod", "distributed"));
        tensorflow
                .find("distributed")
                .filter(node -> !(node instanceof YamlNode.Scalar scalar) || scalar.asBoolean())
                .ifPresent(
                        node -> {
                            throw node.location()
                                    .error(
                                            "parameter servers are not supported. Use"
                                                    + " tensorflow.horovod.workers.");
                        });
    }

    private static void refuseSearch(YamlNode parameters) {
        throw parameters
                .location()
                .error(
                        "a search over parameters is not supported. Remove it, and write the values"
                                + " into run.");
    }

    private static List<String> notices(
            YamlNode.Mapping train, Optional<YamlNode.Mapping> tensorflow) {
        List<String> notices = new ArrayList<>();
        for (String key : List.of("image", "install")) {
            train.find(key)
                    .ifPresent(
                            node ->
                                    notices.add(
                                            node.location()
                                                    + ": has no effect; the program runs with what is"
                                                    + " installed here."));
        }
        tensorflow
                .flatMap(mapping -> mapping.find("tensorboard"))
                .filter(YamlNode::asBoolean)
                .ifPresent(
                        node ->
                                notices.add(
                                        node.location() + ": has no effect; start it yourself."));
        return notices;
    }
}
