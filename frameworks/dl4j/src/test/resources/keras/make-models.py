"""Writes the networks of this folder, and what Keras computes with them.

    pip install keras tensorflow-cpu h5py && python make-models.py

The files of Keras 3 are written by Keras 3.15. Keras 2 is no longer published for current versions of
Python, so this script writes its format itself: the attributes and the groups of its `.h5` files.
"""

import json

import h5py
import keras
import numpy as np
from keras import layers

keras.utils.set_random_seed(7)
random = np.random.default_rng(7)


def numbers(*shape):
    return random.uniform(-1, 1, shape).astype("float32")


def images():
    model = keras.Sequential(
        [
            layers.Input((6, 6, 1)),
            layers.Conv2D(3, 3, activation="relu", name="edges"),
            layers.MaxPooling2D(name="pool"),
            layers.BatchNormalization(name="norm"),
            layers.Flatten(name="flat"),
            layers.Dropout(0.2, name="drop"),
            layers.Dense(3, activation="softmax", name="classes"),
        ]
    )
    model.compile(keras.optimizers.Adam(0.002, beta_1=0.8), "categorical_crossentropy")
    return model, numbers(2, 6, 6, 1)


def branches():
    first = keras.Input((4,), name="numbers")
    left = layers.Dense(5, activation="tanh", name="left")(first)
    right = layers.Dense(5, activation="relu", name="right")(first)
    both = layers.Concatenate(name="both")([left, right])
    model = keras.Model(first, layers.Dense(2, name="out")(both))
    model.compile(keras.optimizers.SGD(0.1, momentum=0.9, nesterov=True), keras.losses.MeanSquaredError())
    return model, numbers(3, 4)


def sequences():
    model = keras.Sequential(
        [
            layers.Input((5, 2)),
            layers.LSTM(4, name="memory"),
            layers.Dense(2, activation="softmax", name="classes"),
        ]
    )
    rate = keras.optimizers.schedules.ExponentialDecay(0.01, 100, 0.5, staircase=True)
    model.compile(keras.optimizers.RMSprop(rate), "categorical_crossentropy")
    return model, numbers(2, 5, 2)


def keras2_layer(layer, inputs):
    """The description of a layer in Keras 2."""
    config = {"name": layer.name, "trainable": True, "dtype": "float32"}
    initializer = {"class_name": "GlorotUniform", "config": {"seed": None}}
    zeros = {"class_name": "Zeros", "config": {}}
    ones = {"class_name": "Ones", "config": {}}
    none = {
        "kernel_regularizer": None,
        "bias_regularizer": None,
        "activity_regularizer": None,
        "kernel_constraint": None,
        "bias_constraint": None,
    }
    trained = {"use_bias": True, "kernel_initializer": initializer, "bias_initializer": zeros, **none}
    kind = type(layer).__name__
    if kind == "Conv2D":
        config |= {
            "filters": layer.filters,
            "kernel_size": list(layer.kernel_size),
            "strides": list(layer.strides),
            "padding": layer.padding,
            "data_format": "channels_last",
            "dilation_rate": [1, 1],
            "activation": "relu",
            **trained,
        }
    elif kind == "MaxPooling2D":
        config |= {"pool_size": [2, 2], "padding": "valid", "strides": [2, 2], "data_format": "channels_last"}
    elif kind == "BatchNormalization":
        config |= {
            "axis": [3],
            "momentum": layer.momentum,
            "epsilon": layer.epsilon,
            "center": True,
            "scale": True,
            "beta_initializer": zeros,
            "gamma_initializer": ones,
            "moving_mean_initializer": zeros,
            "moving_variance_initializer": ones,
            "beta_regularizer": None,
            "gamma_regularizer": None,
            "beta_constraint": None,
            "gamma_constraint": None,
        }
    elif kind == "Flatten":
        config |= {"data_format": "channels_last"}
    elif kind == "Dropout":
        config |= {"rate": layer.rate, "noise_shape": None, "seed": None}
    elif kind == "Dense":
        config |= {"units": layer.units, "activation": layer.activation.__name__, **trained}
    elif kind == "Concatenate":
        config |= {"axis": -1}
    elif kind == "InputLayer":
        config = {
            "batch_input_shape": list(layer.batch_shape),
            "dtype": "float32",
            "sparse": False,
            "name": layer.name,
        }
    described = {"class_name": kind, "config": config}
    if inputs is not None:
        described |= {"name": layer.name, "inbound_nodes": [[[x, 0, 0, {}] for x in inputs]] if inputs else []}
    return described


def save_keras2(model, path, optimizer, loss, inputs=None):
    """inputs: for a functional model, the names of the inputs of each layer."""
    if inputs is None:
        described = [keras2_layer(layer, None) for layer in model.layers]
        described[0]["config"]["batch_input_shape"] = list(model.input_shape)
        config = {"class_name": "Sequential", "config": {"name": "sequential", "layers": described}}
    else:
        config = {
            "class_name": "Model",
            "config": {
                "name": "model",
                "layers": [keras2_layer(layer, inputs.get(layer.name, [])) for layer in model.layers],
                "input_layers": [[model.layers[0].name, 0, 0]],
                "output_layers": [[model.layers[-1].name, 0, 0]],
            },
        }
    training = {"optimizer_config": optimizer, "loss": loss, "metrics": ["accuracy"], "sample_weight_mode": None}
    with h5py.File(path, "w") as file:
        file.attrs["keras_version"] = np.bytes_("2.3.1")
        file.attrs["backend"] = np.bytes_("tensorflow")
        file.attrs["model_config"] = np.bytes_(json.dumps(config))
        file.attrs["training_config"] = np.bytes_(json.dumps(training))
        weights = file.create_group("model_weights")
        weights.attrs["layer_names"] = [np.bytes_(layer.name) for layer in model.layers]
        weights.attrs["backend"] = np.bytes_("tensorflow")
        weights.attrs["keras_version"] = np.bytes_("2.3.1")
        for layer in model.layers:
            group = weights.create_group(layer.name)
            names = [f"{layer.name}/{weight.name}:0" for weight in layer.weights]
            group.attrs["weight_names"] = [np.bytes_(name) for name in names]
            for name, weight in zip(names, layer.weights):
                group.create_dataset(name, data=weight.numpy())


expected = {}
made = {"images": images(), "branches": branches(), "sequences": sequences()}
for name, (model, inputs) in made.items():
    for layer in model.layers:  # not those of a new network
        layer.set_weights([np.abs(w) + 0.1 * np.abs(numbers(*w.shape)) if "norm" in layer.name else w for w in layer.get_weights()])
    model.save(f"{name}.keras")
    model.save(f"{name}.h5")
    outputs = model.predict(inputs, verbose=0)
    expected[name] = {"inputs": inputs.ravel().tolist(), "outputs": outputs.ravel().tolist()}

save_keras2(
    made["images"][0],
    "images-keras2.h5",
    {"class_name": "Adam", "config": {"lr": 0.002, "beta_1": 0.8, "beta_2": 0.999, "decay": 0.01, "epsilon": 1e-07, "amsgrad": False}},
    "categorical_crossentropy",
)
save_keras2(
    made["branches"][0],
    "branches-keras2.h5",
    {"class_name": "SGD", "config": {"name": "SGD", "learning_rate": 0.1, "momentum": 0.9, "decay": 0.0, "nesterov": True}},
    "mse",
    {"left": ["numbers"], "right": ["numbers"], "both": ["left", "right"], "out": ["both"]},
)

unsupported = keras.Sequential([layers.Input((4,)), layers.Dense(2, name="out")])
unsupported.save("not-compiled.keras")
unsupported.compile(keras.optimizers.AdamW(0.1), "mse")
unsupported.save("adamw.keras")
unsupported.save_weights("only.weights.h5")
with open("expected.json", "w") as file:
    json.dump(expected, file)
    file.write("\n")
