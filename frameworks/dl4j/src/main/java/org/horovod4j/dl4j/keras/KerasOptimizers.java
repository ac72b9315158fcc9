package org.horovod4j.dl4j.keras;

import org.horovod4j.ConfigurationException;
import org.nd4j.linalg.learning.config.AMSGrad;
import org.nd4j.linalg.learning.config.AdaDelta;
import org.nd4j.linalg.learning.config.AdaGrad;
import org.nd4j.linalg.learning.config.AdaMax;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.learning.config.IUpdater;
import org.nd4j.linalg.learning.config.Nadam;
import org.nd4j.linalg.learning.config.Nesterovs;
import org.nd4j.linalg.learning.config.RmsProp;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.schedule.ExponentialSchedule;
import org.nd4j.linalg.schedule.ISchedule;
import org.nd4j.linalg.schedule.InverseSchedule;
import org.nd4j.linalg.schedule.ScheduleType;
import org.nd4j.linalg.schedule.StepSchedule;
import org.nd4j.shade.jackson.databind.JsonNode;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/// Optimizers of Keras as updaters of DL4J.
final class KerasOptimizers {
    private static final double EPSILON = 1e-7;

    /// Settings that change the update, and that an updater does not have.
    private static final List<String> REJECTED =
            List.of(
                    "weight_decay",
                    "clipnorm",
                    "global_clipnorm",
                    "clipvalue",
                    "use_ema",
                    "gradient_accumulation_steps");

    private KerasOptimizers() {}

    /// @throws ConfigurationException when DL4J has no such updater
    static IUpdater updater(Path path, String className, JsonNode config) {
        double rate = rate(config);
        double epsilon = config.path("epsilon").asDouble(EPSILON);
        double beta1 = config.path("beta_1").asDouble(0.9);
        double beta2 = config.path("beta_2").asDouble(0.999);
        IUpdater updater =
                switch (className) {
                    case "SGD" ->
                            config.path("momentum").asDouble(0) == 0
                                    ? new Sgd(rate)
                                    : new Nesterovs(rate, config.path("momentum").asDouble());
                    case "Adam" ->
                            config.path("amsgrad").asBoolean()
                                    ? new AMSGrad(rate, beta1, beta2, epsilon)
                                    : new Adam(rate, beta1, beta2, epsilon);
                    case "Adamax" -> new AdaMax(rate, beta1, beta2, epsilon);
                    case "Nadam" -> new Nadam(rate, beta1, beta2, epsilon);
                    case "RMSprop" -> {
                        reject(path, className, config, "momentum", "centered");
                        yield new RmsProp(rate, config.path("rho").asDouble(0.9), epsilon);
                    }
                    case "Adagrad" -> new AdaGrad(rate, epsilon);
                    case "Adadelta" -> {
                        if (rate != 1) {
                            throw new ConfigurationException(
                                    """
                                    DL4J's AdaDelta has no learning rate, but that of %s has %s
                                    Pass an updater of DL4J: KerasModels.load(file, updater)."""
                                            .formatted(path, rate));
                        }
                        yield new AdaDelta(config.path("rho").asDouble(0.95), epsilon);
                    }
                    default -> throw unsupported(path, "optimizer " + className);
                };
        reject(path, className, config, REJECTED.toArray(String[]::new));
        schedule(path, config)
                .ifPresent(schedule -> updater.setLrAndSchedule(Double.NaN, schedule));
        return updater;
    }

    private static void reject(Path path, String className, JsonNode config, String... settings) {
        for (String setting : settings) {
            if (isSet(config.path(setting))) {
                throw unsupported(path, "%s of optimizer %s".formatted(setting, className));
            }
        }
    }

    private static boolean isSet(JsonNode setting) {
        return setting.asBoolean() || setting.asDouble() != 0;
    }

    /// Old versions of Keras 2 say `lr`.
    private static JsonNode rateNode(JsonNode config) {
        return config.has("learning_rate") ? config.path("learning_rate") : config.path("lr");
    }

    private static double rate(JsonNode config) {
        return rateNode(config).asDouble(0.001);
    }

    private static Optional<ISchedule> schedule(Path path, JsonNode config) {
        JsonNode rate = rateNode(config);
        double decay = config.path("decay").asDouble(0); // of Keras 2
        if (decay != 0) {
            return Optional.of(
                    new InverseSchedule(ScheduleType.ITERATION, rate.asDouble(), decay, 1));
        }
        if (!rate.isObject()) {
            return Optional.empty();
        }
        String className = rate.path("class_name").asText();
        if (!className.equals("ExponentialDecay")) {
            throw unsupported(path, "learning rate schedule " + className);
        }
        JsonNode decaying = rate.path("config");
        double initial = decaying.path("initial_learning_rate").asDouble();
        double steps = decaying.path("decay_steps").asDouble();
        double factor = decaying.path("decay_rate").asDouble();
        return Optional.of(
                decaying.path("staircase").asBoolean()
                        ? new StepSchedule(ScheduleType.ITERATION, initial, factor, steps)
                        : new ExponentialSchedule(
                                ScheduleType.ITERATION, initial, Math.pow(factor, 1 / steps)));
    }

    private static ConfigurationException unsupported(Path path, String what) {
        return new ConfigurationException(
                """
                DL4J has no %s, with which the network of %s was compiled
                Pass an updater of DL4J: KerasModels.load(file, updater)."""
                        .formatted(what, path));
    }
}
