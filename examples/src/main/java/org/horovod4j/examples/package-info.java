/// Programs to read and to copy from: one file tells one story.
///
/// Start with [Mnist], which trains a convolutional network with DJL on several processes. Then
///
/// - [FashionMnist]: a learning rate that warms up and falls, checkpoints, and how to go on from
///   one;
/// - [AccumulateAndClip]: a training loop by hand, with large batches and short gradients;
/// - [ElasticMnist]: processes that come and go while it trains;
/// - [ResNet50Benchmark]: how fast this machine trains, alone and with others;
/// - [MnistByHand]: no framework at all;
/// - [Pi]: a program that starts its processes by itself.
///
/// [MnistData], [MnistDataset] and [ExampleArguments] are what they share.
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.compression`, `org.horovod4j.elastic`,
///   `org.horovod4j.djl`, `org.horovod4j.djl.elastic`, `org.horovod4j.djl.training`,
///   `org.horovod4j.launcher`, `org.horovod4j.launcher.function`, `ai.djl..`.
/// - Invariant: what concerns Horovod4J stands in the program itself, in Horovod's six steps.
@NullMarked
package org.horovod4j.examples;

import org.jspecify.annotations.NullMarked;
