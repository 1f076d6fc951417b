#pragma once

// A model: robust linear regression with the Huber loss.
void add_huber();
// An algorithm: Scaffold.
void add_scaffold();
// A partition: each class mostly at one node.
void add_home_class();
// An aggregator: the mean of the first half of the nodes.
void add_first_half();
// A codec with residuals, whose updates have sizes of their own.
void add_threshold();
