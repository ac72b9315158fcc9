"""Writes mnist.keras: a network for handwritten digits, compiled but not trained.

    pip install keras tensorflow-cpu && python make.py
"""

import keras
from keras import layers

keras.utils.set_random_seed(1998)
model = keras.Sequential(
    [
        layers.Input((28, 28, 1)),
        layers.Conv2D(16, 3, activation="relu"),
        layers.MaxPooling2D(),
        layers.Conv2D(32, 3, activation="relu"),
        layers.MaxPooling2D(),
        layers.Flatten(),
        layers.Dense(10, activation="softmax"),
    ]
)
model.compile(keras.optimizers.Adam(0.001), "categorical_crossentropy", metrics=["accuracy"])
model.save("mnist.keras")
