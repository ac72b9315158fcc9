package org.horovod4j.launcher.command;

import org.horovod4j.launcher.yaml.YamlNode;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/// A `riseml.yml`, as it was written for RiseML: the same training runs without its cluster.
///
/// What RiseML built before a run (image and installation) is the user's to provide; a notice says
/// so.
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

    static JobFile read(YamlNode.Section root) {
        root.allow(List.of("project", "description", TRAIN));
        YamlNode.Section train =
                root.find(TRAIN)
                        .orElseThrow(() -> root.where().error("there is nothing below train."))
                        .asSection();
        train.allow(TRAIN_KEYS);
        train.find("parameters").ifPresent(RiseMlFile::refuseSearch);
        Optional<YamlNode.Section> tensorflow = train.find("tensorflow").map(YamlNode::asSection);
        tensorflow.ifPresent(RiseMlFile::check);
        return new JobFile(
                JobFile.name(root, train),
                Workers.of(
                        tensorflow.flatMap(RiseMlFile::workers),
                        Resources.of(train.find("resources"))),
                List.of(),
                Map.of(),
                RunLines.of(train),
                Map.of(),
                notices(train, tensorflow));
    }

    private static Optional<YamlNode> workers(YamlNode.Section tensorflow) {
        return tensorflow
                .find("horovod")
                .map(YamlNode::asSection)
                .flatMap(
                        horovod -> {
                            horovod.allow(List.of("workers"));
                            return horovod.find("workers");
                        });
    }

    private static void check(YamlNode.Section tensorflow) {
        tensorflow.allow(List.of("version", "tensorboard", "horovod", "distributed"));
        tensorflow
                .find("distributed")
                .filter(node -> !(node instanceof YamlNode.Text text) || text.asTruth())
                .ifPresent(
                        node -> {
                            throw node.where()
                                    .error(
                                            "parameter servers are not supported. Use"
                                                    + " tensorflow.horovod.workers.");
                        });
    }

    private static void refuseSearch(YamlNode parameters) {
        throw parameters
                .where()
                .error(
                        "a search over parameters is not supported. Remove it, and write the values"
                                + " into run.");
    }

    private static List<String> notices(
            YamlNode.Section train, Optional<YamlNode.Section> tensorflow) {
        List<String> notices = new ArrayList<>();
        for (String key : List.of("image", "install")) {
            train.find(key)
                    .ifPresent(
                            node ->
                                    notices.add(
                                            node.where()
                                                    + ": has no effect; the program runs with what is"
                                                    + " installed here."));
        }
        tensorflow
                .flatMap(section -> section.find("tensorboard"))
                .filter(YamlNode::asTruth)
                .ifPresent(
                        node -> notices.add(node.where() + ": has no effect; start it yourself."));
        return notices;
    }
}
